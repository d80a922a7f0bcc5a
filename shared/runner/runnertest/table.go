package runnertest

import (
	"context"
	"errors"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// ErrKilled is what a MortalTable says after its death.
var ErrKilled = &berth.Error{Code: berth.CodeUnavailable, Message: "the process was killed", Cause: errors.New("killed")}

// MortalTable is a table of a process that is killed between two writes: after
// a number of writes it answers nothing more. What was written stays.
type MortalTable struct {
	berth.Table

	mu   sync.Mutex // guards left and dead
	left int        // writes; negative is for ever
	dead chan struct{}
}

// NewMortalTable lets writes happen so often; a negative number is for ever.
func NewMortalTable(t berth.Table, writes int) *MortalTable {
	m := &MortalTable{Table: t, left: writes, dead: make(chan struct{})}
	if writes == 0 {
		close(m.dead)
	}
	return m
}

// Dead is closed when the last write was made.
func (m *MortalTable) Dead() <-chan struct{} { return m.dead }

func (m *MortalTable) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return ErrKilled
	}
	return nil
}

// write runs one write; calls take turns, so that the last one is the last.
func (m *MortalTable) write(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return ErrKilled
	}
	if err := f(); err != nil {
		return err
	}
	if m.left--; m.left == 0 {
		close(m.dead)
	}
	return nil
}

// Get fails with ErrKilled after the death.
func (m *MortalTable) Get(ctx context.Context, pk, sk string) (berth.Item, error) {
	if err := m.alive(); err != nil {
		return berth.Item{}, err
	}
	return m.Table.Get(ctx, pk, sk)
}

// Query fails with ErrKilled after the death.
func (m *MortalTable) Query(ctx context.Context, q berth.Query) (berth.Page, error) {
	if err := m.alive(); err != nil {
		return berth.Page{}, err
	}
	return m.Table.Query(ctx, q)
}

// Put counts as one write.
func (m *MortalTable) Put(ctx context.Context, item berth.Item) (version int64, err error) {
	err = m.write(func() error { version, err = m.Table.Put(ctx, item); return err })
	return version, err
}

// Delete counts as one write.
func (m *MortalTable) Delete(ctx context.Context, pk, sk string, version int64) error {
	return m.write(func() error { return m.Table.Delete(ctx, pk, sk, version) })
}

// Transact counts as one write.
func (m *MortalTable) Transact(ctx context.Context, writes []berth.Write) error {
	return m.write(func() error { return m.Table.Transact(ctx, writes) })
}
