// Package relay is this side of a guest that is far away: where no agent can be
// beside it, it runs under a daemon of its own (package daemon), and any stream
// of bytes reaches it.
//
// A provider gives [New] a Dial, which connects a stream to the remote command
// `berth-guest relay -root FOLDER -sandbox ID -installation ID`, with -create when
// Dial says so, and calls [Open] on it in Dial, which passes over what a login
// script prints; with -base64 the stream may be one that drops bytes. [Sandboxes]
// then is the commands and files half of berth.Provider, for embedding, with the
// rules of package sandboxtest.
// Its Provision, Describe, Stop, Start and Destroy are the daemon's part of what
// the provider does. A far daemon needs nothing on this side: any number of
// servers may talk to it, one after the other or at the same time.
//
// Connections are kept while they are used, carry any number of requests at a
// time, and are made anew when they break; requests that were under way are
// asked again, which changes nothing twice. [Install] puts the guest's program
// on a machine that has a shell.
package relay
