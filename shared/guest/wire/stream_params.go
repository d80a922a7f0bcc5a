package wire

import "github.com/berth-dev/berth/shared/berth"

// The operations that open a stream. The guest gets one end of a pair of sockets
// with each, on which the frames of package channel go both ways. It answers when
// the stream has begun; to close the other end hangs up.
const (
	OpShell Op = "shell" // Shell and a socket → none
	OpPort  Op = "port"  // Port and a socket → none
)

// Shell asks for a shell on a terminal of its own.
type Shell struct {
	Env      []Variable   `json:"env,omitempty"`
	Mask     []Text       `json:"mask,omitempty"`
	Terminal string       `json:"terminal,omitempty"`
	Window   berth.Window `json:"window"`
}

// Port asks for a connection to a port of the sandbox's loopback address.
type Port struct {
	Port int `json:"port"`
}
