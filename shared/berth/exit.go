package berth

// ExitReason says why a command ended. It stands apart from the code: a
// command may itself end with 124 or 137.
type ExitReason string

// The exit reasons.
const (
	ExitExited      ExitReason = "exited"
	ExitSignalled   ExitReason = "signalled"
	ExitOutOfMemory ExitReason = "out_of_memory"
	ExitTimedOut    ExitReason = "timed_out"
	ExitCancelled   ExitReason = "cancelled"
	ExitLost        ExitReason = "lost"
)

// Exit is the result of a command: data, not an error.
type Exit struct {
	// Code is what the shell would say: 0 to 255, 128+n for signal n; -1 when
	// the reason is lost, cancelled before the start, or otherwise without one.
	Code int `json:"code"`
	// Signal is the name of the signal that ended the process, such as "KILL"; empty if none did.
	Signal string     `json:"signal,omitempty"`
	Reason ExitReason `json:"reason" enum:"exited,signalled,out_of_memory,timed_out,cancelled,lost"`
	// Message is for people, for reasons that need one.
	Message string `json:"message,omitempty"`
}

// Succeeded reports whether the command ended by itself with 0.
func (e Exit) Succeeded() bool { return e.Reason == ExitExited && e.Code == 0 }

// CLIStatus is the status that `berth run` and `berth exec` end with: the
// command's own, but for the ends that are none of its own.
func (e Exit) CLIStatus() int {
	switch e.Reason {
	case ExitTimedOut:
		return 124
	case ExitOutOfMemory:
		return 137
	case ExitCancelled:
		return 130
	case ExitLost:
		return 125
	}
	return e.Code
}
