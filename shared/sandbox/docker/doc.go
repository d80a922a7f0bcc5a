// Package docker is the provider whose sandboxes are containers of a Docker
// engine on this machine. Process 1 of each is the guest, which talks to this
// process over a socket in a folder that the container sees read-only: a command
// needs no call to the engine, works without a network, and goes on when this
// process, or an engine with live-restore, is started anew.
//
// What the writable layer of a container takes on the disk is not limited: the
// storage driver overlay2 has no such limit.
package docker
