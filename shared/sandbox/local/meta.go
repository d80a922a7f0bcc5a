//go:build linux

package local

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/hostagent"
)

// meta is what is recorded about a sandbox, before each change that it tells of.
type meta struct {
	ID           berth.SandboxID      `json:"id"`
	Installation berth.InstallationID `json:"installation"`
	Run          berth.RunID          `json:"run"`
	Workspace    string               `json:"workspace"`
	Status       berth.SandboxStatus  `json:"status"` // creating, ready, stopped, failed or destroyed
	Reason       *berth.Reason        `json:"reason,omitempty"`
	// Tag is on all processes of the sandbox, which began after Since on this Boot
	// of the machine.
	Tag   proctree.Tag `json:"tag"`
	Boot  string       `json:"boot"`
	Since uint64       `json:"since"`
	// SandboxStart names the present start; it is on the guest's command line.
	SandboxStart string    `json:"sandbox_start"`
	PID          int       `json:"pid"`
	StartTime    uint64    `json:"start_time"`
	CreatedAt    time.Time `json:"created_at"`
}

func (m meta) write(dir string) error { return hostagent.WriteRecord(dir, m) }

// guest finds the guest's process. When the server died between starting and
// recording it, its command line tells.
func (m meta) guest(boot string) (proctree.Process, bool) {
	if m.Boot != boot {
		return proctree.Process{}, false
	}
	if m.PID != 0 {
		p, ok := proctree.Read(m.PID)
		return p, ok && p.StartTime == m.StartTime
	}
	all, err := proctree.All()
	if err != nil {
		return proctree.Process{}, false
	}
	for _, p := range all {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		if err == nil && strings.Contains(string(b), startFlag+"\x00"+m.SandboxStart+"\x00") {
			return p, true
		}
	}
	return proctree.Process{}, false
}
