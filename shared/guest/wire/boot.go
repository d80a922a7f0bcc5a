package wire

import "github.com/berth-dev/berth/shared/berth"

// The names in the folder of a sandbox whose guest is its own agent, as process 1
// of a container.
const (
	ContainedGuest = "guest"     // the program
	ContainedBoot  = "boot.json" // Boot, which the guest takes away
	ContainedLink  = "link"      // folder of the guest's socket
	ContainedSpool = "spool"     // folder of the spools
	ContainedDoor  = "door"      // folder of the socket for those who come from outside
)

// Boot is what such a guest is told about its start. A start that nobody told it
// about gets a name of its own.
type Boot struct {
	Start string    `json:"start"`
	Ends  []BootEnd `json:"ends,omitempty"`
}

// BootEnd is the exit of commands that an earlier start has left without one.
type BootEnd struct {
	Start string     `json:"start"`
	Exit  berth.Exit `json:"exit"`
}

// OversizeStatus is the status of such a guest when a spool is past its cap by
// more than a guest in its senses writes.
const OversizeStatus = 77
