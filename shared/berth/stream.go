package berth

import (
	"context"
	"io"
	"time"
)

// StreamKind is what a stream into a sandbox leads to.
type StreamKind string

// The kinds of streams.
const (
	StreamShell StreamKind = "shell" // a shell on a terminal of its own
	StreamPort  StreamKind = "port"  // a TCP port on the sandbox's loopback address
)

// StreamSpec says what to open. Its bytes are the frames of package channel.
type StreamSpec struct {
	Kind StreamKind
	// Port is that of a StreamPort.
	Port int

	// What follows is for a shell. Env and Mask are as for a command.
	Env  map[string]string
	Mask []SecretValue
	// Terminal is the TERM of the one at the other end.
	Terminal string
	Window   Window
}

// Window is the size of a terminal, in characters; zero is not known.
type Window struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// Ticket lets its holder open one kind of stream into one sandbox, at an agent or
// a server, without any other credential: a shell once, a port as often as wanted.
type Ticket struct {
	Value string `json:"value"`
	// URL is where streams are opened, with a WebSocket.
	URL string `json:"url"`
	// Fingerprint is of the one certificate to trust there, sha256: and hex digits;
	// empty when that of the URL's host is to be checked as usual.
	Fingerprint string    `json:"fingerprint,omitempty"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// ShellRequest asks for a way to a shell in a sandbox. All of it is optional.
type ShellRequest struct {
	// Terminal is the TERM of the asker's terminal.
	Terminal string `json:"terminal,omitempty"`
	Window   Window `json:"window"`
	// TTL is how long what is answered may be used to get in.
	TTL Duration `json:"ttl,omitempty"`
}

// ShellAccess is the way to a shell: a command line to run, or a ticket.
type ShellAccess struct {
	Sandbox SandboxID `json:"sandbox"`
	Command string    `json:"command,omitempty"`
	Ticket  *Ticket   `json:"ticket,omitempty"`
}

// PreviewRequest asks for a way to a port in a sandbox.
type PreviewRequest struct {
	Port int      `json:"port"`
	TTL  Duration `json:"ttl,omitempty"`
	// As is what to answer: a URL where there is one when empty, else a ticket.
	As PreviewForm `json:"as,omitempty" enum:"url,ticket"`
}

// PreviewForm is a way to a port.
type PreviewForm string

// The ways to a port.
const (
	PreviewURL    PreviewForm = "url"    // for browsers
	PreviewTicket PreviewForm = "ticket" // for a forward from the asker's machine
)

// PreviewAccess is the way to a port: a URL for browsers, or a ticket.
type PreviewAccess struct {
	Sandbox SandboxID `json:"sandbox"`
	Port    int       `json:"port"`
	URL     string    `json:"url,omitempty"`
	Ticket  *Ticket   `json:"ticket,omitempty"`
}

// MaxStreamTTL is the longest that access to a sandbox is given for at once.
const MaxStreamTTL = 24 * time.Hour

// Check reports what cannot be. Error: invalid, with the field.
func (s StreamSpec) Check() error {
	switch {
	case s.Kind == StreamPort && (s.Port < 1 || s.Port > 65535):
		return FieldErrorf(CodeInvalid, "port", "must be a number from 1 to 65535")
	case s.Kind == StreamShell && !plainTerminal(s.Terminal):
		return FieldErrorf(CodeInvalid, "terminal", "must be the name of a terminal, such as xterm-256color: 64 letters, digits and + - . _ at most")
	case s.Kind != StreamPort && s.Kind != StreamShell:
		return FieldErrorf(CodeInvalid, "kind", "must be %s or %s", StreamShell, StreamPort)
	}
	return nil
}

func plainTerminal(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '+', r == '-', r == '.', r == '_':
		default:
			return false
		}
	}
	return len(name) <= 64
}

// More optional powers (see provider.go).
type (
	// Streamer opens streams into a sandbox. To close one hangs up: a shell and all
	// that it started are ended then. Errors: not_found; conflict for a sandbox that
	// is not running; unavailable where nothing listens; unsupported.
	Streamer interface {
		OpenStream(ctx context.Context, ref SandboxRef, spec StreamSpec) (io.ReadWriteCloser, error)
	}
	// PartStreamer is a Streamer that reaches not every sandbox: Streams tells of one.
	PartStreamer interface {
		Streamer
		Streams(ctx context.Context, ref SandboxRef) (bool, error)
	}
	// Ticketer lets clients open streams at an agent, without the server between.
	// A ticket without a URL says that the server itself reaches this sandbox.
	Ticketer interface {
		IssueTicket(ctx context.Context, ref SandboxRef, spec StreamSpec, ttl time.Duration) (Ticket, error)
	}
)
