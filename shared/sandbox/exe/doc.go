// Package exe is the provider whose sandboxes are VMs of exe.dev. A lobby, which
// speaks over SSH, makes and removes them; each VM is reached by SSH of its own,
// and a guest runs in it under a daemon.
//
// A VM's name is made of the sandbox's id, which is recorded before the VM is:
// whatever dies in between, the name leads to it.
package exe
