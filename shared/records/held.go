package records

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// heldItem is a record that a Change has read and writes back.
type heldItem interface {
	item() (berth.Item, error)
	key() [2]string
}

type held[T any] struct {
	value   T
	version int64
	at      [2]string // partition and sort key
	encode  func(T, int64) (berth.Item, error)
}

func (h *held[T]) item() (berth.Item, error) { return h.encode(h.value, h.version) }

func (h *held[T]) key() [2]string { return h.at }

// hold reads a record once a Change; everybody who asks gets the same one.
func hold[T any](ctx context.Context, c *Change, pk, sk string, encode func(T, int64) (berth.Item, error)) (*held[T], error) {
	at := [2]string{pk, sk}
	for _, h := range c.held {
		if h.key() == at {
			return h.(*held[T]), nil
		}
	}
	h := &held[T]{at: at, encode: encode}
	version, err := c.store.find(ctx, pk, sk, &h.value)
	if err != nil && !isNotFound(err) {
		return nil, err
	}
	h.version = version
	if err == nil {
		c.held = append(c.held, h)
	}
	return h, err
}

// Stage returns the stage for reading and changing; it is written with the
// rest. Error: not_found.
func (c *Change) Stage(ctx context.Context, id berth.StageID) (*berth.Stage, error) {
	h, err := hold(ctx, c, pkRun(c.Head.ID), skStage(id), func(stage berth.Stage, version int64) (berth.Item, error) {
		return stageItem(c.Head.ID, stage, version)
	})
	if err != nil {
		return nil, rename(err, berth.CodeNotFound, noStage(c.Head.ID, id))
	}
	return &h.value, nil
}

// Sandbox returns the run's sandbox for reading and changing; it is written
// with the rest. Error: not_found.
func (c *Change) Sandbox(ctx context.Context) (*berth.Sandbox, error) {
	id := c.Head.Sandbox
	h, err := hold(ctx, c, pkSandbox, string(id), sandboxItem)
	if err != nil {
		return nil, rename(err, berth.CodeNotFound, noSandbox(id))
	}
	return &h.value, nil
}

// SetSandboxStatus moves the sandbox and tells of it with an event.
func (c *Change) SetSandboxStatus(sb *berth.Sandbox, status berth.SandboxStatus, reason *berth.Reason) {
	sb.UpdatedAt = c.store.Clock.Now()
	if sb.Status == status {
		return
	}
	sb.Status, sb.Reason = status, reason
	c.Event(berth.Event{Kind: berth.EventSandboxStatus, Status: string(status), Reason: reason, Message: string(status)})
}

// Command returns the record of a command in the run's sandbox for reading and
// changing; one that is not there yet is made from fresh. It is written with the rest.
func (c *Change) Command(ctx context.Context, fresh berth.Command) (*berth.Command, error) {
	h, err := hold(ctx, c, pkCommands(fresh.Sandbox), skCommand(fresh.ID), commandItem)
	if isNotFound(err) {
		h.value = fresh
		h.value.CreatedAt = c.store.Clock.Now()
		c.held = append(c.held, h)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return &h.value, nil
}
