// Package daemon is the far end of a relay: a process in a sandbox that has no
// agent beside it. It owns one folder with one sandbox in it, holds the guest's
// spools there, survives every connection, and answers over a socket in that
// folder. Relay connects a stream of any kind to it, and starts it when need be.
// Both are part of the guest's program and use the standard library only.
package daemon
