//go:build linux

package docker

import (
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
	Status       berth.SandboxStatus  `json:"status"` // creating, ready, stopped, failed or destroyed
	Reason       *berth.Reason        `json:"reason,omitempty"`
	Container    string               `json:"container,omitempty"` // the engine's id
	Volumes      []string             `json:"volumes,omitempty"`   // those of the image, made with the container
	Transport    Transport            `json:"transport,omitempty"` // the socket when empty
	Arch         string               `json:"arch,omitempty"`      // of the guest
	Binds        []bind               `json:"binds,omitempty"`
	UID          int                  `json:"uid"` // of commands
	GID          int                  `json:"gid"`
	// SandboxStart names the present start. Boot, PID and StartTime are its guest:
	// the State.Pid of the container after that start.
	SandboxStart string    `json:"sandbox_start,omitempty"`
	Engine       string    `json:"engine,omitempty"` // its process at that start
	Boot         string    `json:"boot,omitempty"`
	PID          int       `json:"pid,omitempty"`
	StartTime    uint64    `json:"start_time,omitempty"`
	Ends         []ending  `json:"ends,omitempty"`       // of earlier starts, the latest last
	StartedAt    string    `json:"started_at,omitempty"` // by the engine's word; with TransportAttached
	CreatedAt    time.Time `json:"created_at"`
}

// ending is how one start of the sandbox ended that nobody had asked to end. Its
// commands that had not ended by then have this exit.
type ending struct {
	Start  string           `json:"start"`
	Reason berth.ExitReason `json:"reason"`
	Text   string           `json:"text"`
}

// maxEnds bounds the record of a sandbox that keeps dying.
const maxEnds = 32

// ended returns m with the end of its present start recorded.
func (m meta) ended(e ending) meta {
	m.Ends = append(append([]ending(nil), m.Ends...), e)
	m.Ends = m.Ends[max(0, len(m.Ends)-maxEnds):]
	return m
}

// endOf is how a start ended; nil when nothing more than that is known.
func (m meta) endOf(start string) *ending {
	for _, e := range m.Ends {
		if e.Start == start {
			return &e
		}
	}
	return nil
}

func (m meta) write(dir string) error { return hostagent.WriteRecord(dir, m) }

// attached reports whether the guest is its own agent.
func (m meta) attached() bool { return m.Transport == TransportAttached }

// guest finds the guest's process, when it still runs.
func (m meta) guest(boot string) (proctree.Process, bool) {
	if m.Boot != boot || m.PID == 0 {
		return proctree.Process{}, false
	}
	p, ok := proctree.Read(m.PID)
	return p, ok && p.StartTime == m.StartTime
}
