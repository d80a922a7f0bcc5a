// Package plain runs commands on a host that can hold no guest, by bash and the
// usual small programs alone. It does less than a guest, and says so: there is no
// standard input, no masking (commands with secrets are refused), no search and
// no read-before-write; processes that leave their group outlive their command,
// and which signal ended one is told by its status. What it does survives every
// connection as a guest's work does: output is framed on the host, and a command
// is started once.
package plain
