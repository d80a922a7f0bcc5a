package records

import (
	"context"
	"errors"

	"github.com/berth-dev/berth/shared/berth"
)

// Change is a run being changed: the head, what else was asked for (stages, the
// sandbox, commands), and the events and other writes that go into the same
// transaction.
type Change struct {
	Head Head

	store  *Store
	held   []heldItem
	events []berth.Event
	writes []berth.Write
}

// ErrUnchanged, returned from a change function, ends ChangeRun without a write
// and without an error.
var ErrUnchanged = berth.Errorf(berth.CodeInternal, "nothing to change")

// ChangeRun reads the head, lets change work on it, and writes everything at
// once on the condition that nobody was faster; the loser reads again and its
// function is called again. Statuses move only as RunStatus.CanBecome allows,
// and an ended run is never written: that is a conflict.
func (s *Store) ChangeRun(ctx context.Context, id berth.RunID, change func(*Change) error) (Head, error) {
	var head Head
	err := s.race(ctx, "run "+string(id), func() error {
		var version int64
		var err error
		if head, version, err = s.findHead(ctx, id); err != nil {
			return err
		}
		before := head.Status
		c := &Change{Head: head, store: s}
		if err := change(c); err != nil {
			return unlessUnchanged(err)
		}
		if before.Ended() {
			return berth.Errorf(berth.CodeConflict, "run %s has ended: it is %s", id, before)
		}
		if c.Head.Status != before && !before.CanBecome(c.Head.Status) {
			return berth.Errorf(berth.CodeInternal, "run %s cannot go from %s to %s", id, before, c.Head.Status)
		}
		writes, err := c.transaction(version)
		if err != nil {
			return err
		}
		if err := s.Table.Transact(ctx, writes); err != nil {
			return berth.Wrap(err, "changing run "+string(id))
		}
		head = c.Head
		if s.Notifier != nil {
			s.Notifier.Notify(RunTopic(id))
		}
		return nil
	})
	return head, err
}

// unlessUnchanged is the error of a change function, but for ErrUnchanged.
func unlessUnchanged(err error) error {
	if errors.Is(err, ErrUnchanged) {
		return nil
	}
	return err
}

// Event adds an event; its run, number and time are filled in.
func (c *Change) Event(e berth.Event) { c.events = append(c.events, e) }

// Write adds another item of the caller's to the transaction.
func (c *Change) Write(w berth.Write) { c.writes = append(c.writes, w) }

// SetStatus moves the run and tells of it with an event.
func (c *Change) SetStatus(status berth.RunStatus) {
	if c.Head.Status == status {
		return
	}
	now := c.store.Clock.Now()
	c.Head.Status = status
	if status == berth.RunProvisioning && c.Head.AdmittedAt == nil {
		c.Head.AdmittedAt = &now
	}
	if status == berth.RunRunning && c.Head.StartedAt == nil {
		c.Head.StartedAt = &now
	}
	if status.Ended() {
		c.Head.EndedAt = &now
		c.Head.Stage, c.Head.Token, c.Head.SuspectSince = "", "", nil
		c.Write(berth.Write{Item: liveItem(c.Head.ID, liveVersion), Delete: true})
	}
	c.Event(berth.Event{Kind: berth.EventRunStatus, Status: string(status), Reason: c.Head.Reason, Exit: c.Head.Exit})
}

func (c *Change) transaction(version int64) ([]berth.Write, error) {
	now := c.store.Clock.Now()
	writes := c.writes
	for i := range c.events {
		e := c.events[i]
		c.Head.Events++
		e.Run, e.Seq, e.Time = c.Head.ID, c.Head.Events, now
		item, err := eventItem(e)
		if err != nil {
			return nil, err
		}
		writes = append(writes, berth.Write{Item: item})
	}
	for _, held := range c.held {
		item, err := held.item()
		if err != nil {
			return nil, err
		}
		writes = append(writes, berth.Write{Item: item})
	}
	item, err := c.Head.item(version)
	return append(writes, berth.Write{Item: item}), err
}

// RunTopic is the topic that a run's readers wait on.
func RunTopic(id berth.RunID) string { return "run/" + string(id) }
