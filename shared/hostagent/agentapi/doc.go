// Package agentapi is the host agent's HTTP API: the server, and the forms that
// it and its client (package remote) exchange. It serves any set of
// berth.Provider to one installation.
//
// Small things travel as JSON in which every string that may be any bytes is
// base64; a command's spool, standard input and file contents are the body
// itself, with offsets in the query and in headers.
package agentapi
