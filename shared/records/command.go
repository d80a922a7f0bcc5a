package records

import (
	"context"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
)

func commandItem(cmd berth.Command, version int64) (berth.Item, error) {
	body, err := encode(cmd)
	if err == nil && len(body) > berth.MaxItemBytes {
		field := "command"
		if cmd.Script != "" {
			field = "script"
		}
		err = berth.FieldErrorf(berth.CodeTooLarge, field, "the command is %d bytes, the limit is %d: put the script into a file", len(body), berth.MaxItemBytes)
	}
	return berth.Item{PK: pkCommands(cmd.Sandbox), SK: skCommand(cmd.ID), Version: version, Body: body}, err
}

// CreateCommand records a command before it is started. The same command under
// the same id is returned as it is recorded; another one is a conflict.
func (s *Store) CreateCommand(ctx context.Context, cmd berth.Command) (recorded berth.Command, created bool, err error) {
	cmd.CreatedAt = s.Clock.Now()
	item, err := commandItem(cmd, 0)
	if err != nil {
		return cmd, false, err
	}
	_, err = s.Table.Put(ctx, item)
	if !isStale(err) {
		return cmd, err == nil, err
	}
	old, err := s.FindCommand(ctx, cmd.Sandbox, cmd.ID)
	if err != nil {
		return old, false, err
	}
	if !slices.Equal(old.Argv, cmd.Argv) || old.Script != cmd.Script || old.Dir != cmd.Dir || old.Timeout != cmd.Timeout {
		return old, false, berth.Errorf(berth.CodeConflict, "command %s is in use for another command", cmd.ID)
	}
	return old, false, nil
}

// FindCommand returns not_found.
func (s *Store) FindCommand(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID) (berth.Command, error) {
	var cmd berth.Command
	_, err := s.find(ctx, pkCommands(sandbox), skCommand(id), &cmd)
	return cmd, rename(err, berth.CodeNotFound, noCommand(sandbox, id))
}

// ChangeCommand lets change work on the record until it is written before
// anybody else's change. ErrUnchanged ends it without a write.
func (s *Store) ChangeCommand(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID, change func(*berth.Command) error) (cmd berth.Command, err error) {
	what := "command " + string(id)
	err = s.race(ctx, what, func() error {
		cmd = berth.Command{}
		version, err := s.find(ctx, pkCommands(sandbox), skCommand(id), &cmd)
		if err != nil {
			return rename(err, berth.CodeNotFound, noCommand(sandbox, id))
		}
		if err := change(&cmd); err != nil {
			return unlessUnchanged(err)
		}
		item, err := commandItem(cmd, version)
		if err != nil {
			return err
		}
		_, err = s.Table.Put(ctx, item)
		return berth.Wrap(err, "changing "+what)
	})
	return cmd, err
}

func noCommand(sandbox berth.SandboxID, id berth.CommandID) *berth.Error {
	return berth.Errorf(berth.CodeNotFound, "sandbox %s has no command %s", sandbox, id)
}

// DeleteCommand forgets a command that was never started; an absent one is no error.
func (s *Store) DeleteCommand(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID) error {
	what := "command " + string(id)
	return s.race(ctx, what, func() error {
		item, err := s.Table.Get(ctx, pkCommands(sandbox), skCommand(id))
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return berth.Wrap(s.Table.Delete(ctx, item.PK, item.SK, item.Version), "forgetting "+what)
	})
}
