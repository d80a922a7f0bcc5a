// Package ssh is the provider whose sandboxes are directories of hosts that are
// there already, reached by SSH. A guest runs on the host under a daemon of its
// own, and connections only relay to it: one that drops loses nothing. There is
// no isolation, and the directory stays when the sandbox is destroyed.
package ssh
