//go:build linux

package guest

import (
	"context"
	"os"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/spool"
)

const (
	killGrace = 2 * time.Second  // between TERM and KILL
	killLimit = 10 * time.Second // for KILL to take effect
	stopLimit = killGrace + killLimit + drainLimit
)

// limit enforces the timeout, with nobody's help.
func (g *Guest) limit(c *command, timeout time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-c.exited:
	case <-timer.C:
		g.endTree(c, berth.ExitTimedOut, "the timeout of "+timeout.String()+" was over")
	}
}

// endTree ends all processes of c. Who comes first decides the reason; a command
// whose first process has ended is over, and what it left is let be.
func (g *Guest) endTree(c *command, reason berth.ExitReason, message string) {
	e := &ending{reason, message, make(chan struct{})}
	c.mu.Lock()
	if c.ended || c.ending != nil {
		c.mu.Unlock()
		return
	}
	c.ending = e
	c.mu.Unlock()
	find := func(all []proctree.Process) []proctree.Process { return c.tree(all, g.marks) }
	proctree.End(context.Background(), proctree.Ending{Find: find, Grace: killGrace, Limit: killLimit})
	close(e.over)
}

// tree picks the processes of c: its session, its descendants, and those that
// left both and have its mark.
func (c *command) tree(all []proctree.Process, marks marker) []proctree.Process {
	descendants := map[int]bool{c.pid: true}
	for _, p := range proctree.Below(all, c.pid) {
		descendants[p.PID] = true
	}
	var tree []proctree.Process
	for _, p := range proctree.Below(all, os.Getpid()) {
		if descendants[p.PID] || p.Session == c.pid || c.mark != 0 && marks.has(p.PID, c.mark) {
			tree = append(tree, p)
		}
	}
	return tree
}

// signal sends to the process group of a command. It takes over file, the spool.
func (g *Guest) signal(p wire.Signal, file *os.File) error {
	signal, err := wire.ParseSignal(p.Name)
	if err != nil {
		file.Close()
		return err
	}
	c, err := g.runningOrTombstone(p.ID, file, wire.Tombstone(signal))
	if c == nil || err != nil {
		return err
	}
	if !g.reaper.signalGroup(c.pid, signal) {
		return errEnded
	}
	return nil
}

var errEnded = berth.Errorf(berth.CodeConflict, "the command has ended")

// cancel ends a command; the record tells when it is over. To cancel what has
// ended is no error. It takes over file, the spool.
func (g *Guest) cancel(p wire.Signal, file *os.File) error {
	c, err := g.runningOrTombstone(p.ID, file, true)
	if err == errEnded {
		return nil
	}
	if c != nil {
		go g.endTree(c, berth.ExitCancelled, "the command was cancelled")
	}
	return err
}

// runningOrTombstone returns the command when it runs. When it has not started,
// bury leaves a tombstone. Errors: conflict when it has ended, not_found.
func (g *Guest) runningOrTombstone(id berth.CommandID, file *os.File, bury bool) (*command, error) {
	defer file.Close()
	g.startMu.Lock()
	defer g.startMu.Unlock()
	if c := g.find(id); c != nil {
		select {
		case <-c.exited:
			return nil, errEnded
		default:
			return c, nil
		}
	}
	writer, was, err := spool.OpenWriter(file)
	switch {
	case err != nil:
		return nil, err
	case was.Start != nil:
		return nil, errEnded
	case was.Exit != nil:
		return nil, nil // it has been buried before
	case !bury:
		return nil, berth.Errorf(berth.CodeNotFound, "the command has not started")
	}
	if err := writer.WriteExit(berth.Exit{Code: -1, Reason: berth.ExitCancelled, Message: "cancelled before the start"}); err != nil {
		return nil, diskError(err)
	}
	g.looks.add(id)
	return nil, nil
}
