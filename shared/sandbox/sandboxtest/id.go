package sandboxtest

import (
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/ids"
)

var fresh = ids.New(berth.SystemClock{})

// NewID is one that no other test has, of this process or another: tests look for
// processes and rows by it.
func NewID() berth.SandboxID { return berth.SandboxID(fresh.NewID()) }
