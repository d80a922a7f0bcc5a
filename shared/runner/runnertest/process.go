package runnertest

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/spool"
)

// Process is what a Program sees of the command it runs.
type Process struct {
	Spec berth.CommandSpec
	// Ended is closed when the command was cancelled, signalled, timed out or lost.
	Ended <-chan struct{}

	process *process
}

// Program is the behaviour of a command. It returns the exit code; after Ended
// was closed what it returns does not matter.
type Program func(p *Process) int

// Write adds output.
func (p *Process) Write(stream berth.Stream, data []byte) {
	t := spool.TypeStdout
	if stream == berth.Stderr {
		t = spool.TypeStderr
	}
	for len(data) > 0 {
		n := min(len(data), spool.MaxPayload)
		p.process.append(t, data[:n])
		data = data[n:]
	}
}

type process struct {
	spec berth.CommandSpec

	mu      sync.Mutex // guards all below
	spool   []byte
	exit    *berth.Exit
	lost    bool
	changed chan struct{} // closed at the next change
	ended   chan struct{}
	stdin   []byte
	eof     bool
	started time.Time
}

func newProcess(spec berth.CommandSpec) *process {
	return &process{spec: spec, changed: make(chan struct{}), ended: make(chan struct{}), started: time.Now()}
}

func tombstone() *process {
	c := newProcess(berth.CommandSpec{})
	c.interrupt(berth.Exit{Code: -1, Reason: berth.ExitCancelled})
	return c
}

func (c *process) begin(run Program) {
	start, err := json.Marshal(spool.Start{Command: c.spec.ID, At: c.started})
	if err != nil {
		panic(err)
	}
	c.append(spool.TypeStart, start)
	if run == nil {
		run = func(p *Process) int {
			p.Write(berth.Stderr, []byte("not found\n"))
			return 127
		}
	}
	if c.spec.Timeout > 0 {
		time.AfterFunc(c.spec.Timeout, func() {
			c.interrupt(berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitTimedOut})
		})
	}
	go func() {
		code := run(&Process{Spec: c.spec, Ended: c.ended, process: c})
		c.interrupt(berth.Exit{Code: code, Reason: berth.ExitExited})
	}()
}

// append adds a frame unless the command has ended.
func (c *process) append(t spool.Type, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exit == nil && !c.lost {
		c.spool = spool.AppendFrame(c.spool, t, payload)
		c.wake()
	}
}

func (c *process) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// interrupt ends the command unless it has ended.
func (c *process) interrupt(exit berth.Exit) {
	encoded, err := json.Marshal(exit)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exit != nil || c.lost {
		return
	}
	c.spool = spool.AppendFrame(c.spool, spool.TypeExit, encoded)
	c.exit = &exit
	close(c.ended)
	c.wake()
}

func (c *process) vanish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exit == nil && !c.lost {
		c.lost = true
		close(c.ended)
	}
	c.wake()
}

func (c *process) describe() berth.CommandState {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := berth.CommandState{ID: c.spec.ID, Status: berth.CommandRunning, StartedAt: c.started, Exit: c.exit}
	if c.lost {
		state.Exit = lost()
	}
	if state.Exit != nil {
		state.Status = berth.CommandEnded
	}
	return state
}

func (c *process) read(ctx context.Context, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		c.mu.Lock()
		raw, err := spool.ReadWhole(bytes.NewReader(c.spool), offset, limit)
		out := berth.Output{Bytes: raw, Next: offset + int64(len(raw))}
		if c.exit != nil && out.Next == int64(len(c.spool)) {
			out.Ended, out.Exit = true, c.exit
		} else if c.lost && len(raw) == 0 {
			out.Ended, out.Exit = true, lost()
		}
		changed := c.changed
		c.mu.Unlock()
		if err != nil || len(raw) > 0 || out.Ended {
			return out, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return out, nil
		case <-ctx.Done():
			return out, berth.Errorf(berth.CodeUnavailable, "reading was interrupted")
		}
	}
}

func (c *process) writeInput(offset int64, data []byte, eof bool) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := int64(len(c.stdin))
	if offset > have {
		return have, berth.Errorf(berth.CodeConflict, "a gap in standard input")
	}
	if skip := have - offset; skip < int64(len(data)) {
		c.stdin = append(c.stdin, data[skip:]...)
	}
	c.eof = c.eof || eof
	c.wake()
	return int64(len(c.stdin)), nil
}

// End ends the command with an exit that no program can give itself.
func (p *Process) End(exit berth.Exit) { p.process.interrupt(exit) }
