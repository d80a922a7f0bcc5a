//go:build linux

package guest

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/redact"
	"github.com/berth-dev/berth/shared/spool"
)

// command is one process that was started, until its exit is recorded.
type command struct {
	id     berth.CommandID
	hash   string
	pid    int
	mark   uint64
	record *record
	input  *input // nil when standard input is empty
	kills  int64  // of the control group before the start
	pipes  [2]*os.File
	heard  atomic.Int64  // when output came last, in nanoseconds since the epoch
	quiet  chan struct{} // closed when both pipes are at their end
	exited chan struct{} // closed when the first process has been reaped
	done   chan struct{} // closed when the exit is recorded

	mu     sync.Mutex // guards all below
	status syscall.WaitStatus
	ended  bool
	ending *ending
}

// ending is why and how a command is being ended from outside.
type ending struct {
	reason  berth.ExitReason
	message string
	over    chan struct{} // closed when its processes are gone
}

// start runs p, unless its spool says that it has been started or refused. It
// takes over file.
func (g *Guest) start(p wire.Command, file *os.File) error {
	kept := false
	defer func() {
		if !kept {
			file.Close()
		}
	}()
	if g.prepareErr != nil {
		return g.prepareErr
	}
	dir, err := g.commandDir(string(p.Dir))
	if err != nil {
		return err
	}
	masker := redact.New(bytesOf(p.Mask))
	g.startMu.Lock()
	defer g.startMu.Unlock()
	if c := g.find(p.ID); c != nil {
		return sameCommand(c.hash, p.Hash)
	}
	writer, was, err := spool.OpenWriter(file)
	switch {
	case err != nil:
		return err
	case was.Start != nil:
		return sameCommand(was.Start.Hash, p.Hash)
	case was.Exit != nil:
		return nil // a tombstone
	}
	c := &command{
		id: p.ID, hash: p.Hash, record: newRecord(writer, file, masker, p.OutputCap),
		kills: ownMemory().kills(), quiet: make(chan struct{}), exited: make(chan struct{}), done: make(chan struct{}),
	}
	if err := g.add(c); err != nil {
		return err
	}
	start := spool.Start{Command: p.ID, Hash: p.Hash, SandboxStart: g.config.SandboxStart, At: time.Now().UTC()}
	if start.SandboxStart == "" {
		start.SandboxStart = p.SandboxStart
	}
	if err := writer.WriteStart(start); err != nil {
		g.remove(c)
		return diskError(err)
	}
	kept = true
	// From here on the id is used up, and the record says how it ended.
	if err := g.fork(c, p, dir); err != nil {
		text := "the process could not be started: " + err.Error()
		c.record.write(spool.TypeStderr, []byte("berth: "+text+"\n"))
		close(c.quiet)
		go g.finish(c, berth.Exit{Code: 126, Reason: berth.ExitExited, Message: text})
		return nil
	}
	g.looks.add(c.id)
	go g.follow(c)
	if p.Timeout > 0 {
		go g.limit(c, p.Timeout)
	}
	return nil
}

// sameCommand is nil for a command that is already there, and conflict when its
// id was used for another.
func sameCommand(was, asked string) error {
	if was == asked {
		return nil
	}
	return berth.FieldErrorf(berth.CodeConflict, "id", "the command id has been used for another command")
}

func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &berth.Error{Code: berth.CodeUnavailable, Message: "no space is left for the command's output", Cause: err}
	}
	return berth.Wrap(err, "writing a spool")
}

func bytesOf(list []wire.Text) [][]byte {
	var out [][]byte
	for _, t := range list {
		out = append(out, []byte(t))
	}
	return out
}

func (g *Guest) find(id berth.CommandID) *command {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.commands[id]
}

func (g *Guest) add(c *command) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return berth.Errorf(berth.CodeConflict, "the sandbox is being stopped")
	}
	g.commands[c.id] = c
	return nil
}

func (g *Guest) remove(c *command) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.commands, c.id)
}
