// Package guest is the process inside a sandbox: it starts commands, keeps their
// output in spools, enforces their timeouts and serves files. It dials its agent
// over a socket in a folder that both see, and dials again when the agent was
// gone, so that a dead agent loses nothing. It uses the standard library only
// and is the same for every provider that can hold it.
package guest
