// Package docker is the provider whose sandboxes are containers of a Docker
// engine. Process 1 of each is the guest. With an engine on the same Linux it talks
// to this process over a socket in a folder that the container sees read-only: a
// command needs no call to the engine, works without a network, and goes on when
// this process, or an engine with live-restore, is started anew.
//
// With every other engine, which a probe finds out, the guest is its own agent: it
// keeps its spools in a volume, and this process talks to it over the attached
// standard input and output of process 1. See [Transport].
//
// What the writable layer of a container takes on the disk is not limited: the
// storage driver overlay2 has no such limit.
package docker
