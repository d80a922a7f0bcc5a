package local

import (
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent"
)

// Config is what a Provider needs.
type Config struct {
	// Root is the folder for the sandboxes' own files, made when it is not
	// there. It belongs to one server at a time.
	Root string
	// GuestPath is the program cmd/berth-guest.
	GuestPath    string
	Installation berth.InstallationID
	// Environ is what commands inherit after filtering; the server's own when nil.
	Environ []string
	// Unfiltered keeps all of Environ but what is berth's: for a machine that is
	// the sandbox's own.
	Unfiltered bool
	// Bash is the shell of commands; /bin/bash, else that of PATH, when empty.
	Bash   string
	Clock  berth.Clock      // the system's when nil
	Logger hostagent.Logger // silent when nil
}
