// Package hostagent is the agent's side of a guest: the socket that the guest
// dials, the spools that outlive it, and the commands and files of a sandbox
// made of both. It knows nothing of how a provider makes its sandboxes.
package hostagent
