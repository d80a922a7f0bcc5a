package records

import (
	"context"
	"reflect"

	"github.com/berth-dev/berth/shared/berth"
)

// CreateCommand records a command before it is started. The same command under
// the same id is returned as it is recorded; another one is a conflict.
func (s *Store) CreateCommand(ctx context.Context, cmd berth.Command) (recorded berth.Command, created bool, err error) {
	cmd.CreatedAt = s.Clock.Now()
	body, err := encode(cmd)
	if err != nil {
		return cmd, false, err
	}
	if len(body) > berth.MaxItemBytes {
		return cmd, false, berth.Errorf(berth.CodeTooLarge, "the command is %d bytes, the limit is %d: put the script into a file", len(body), berth.MaxItemBytes)
	}
	_, err = s.Table.Put(ctx, berth.Item{PK: pkCommands(cmd.Sandbox), SK: skCommand(cmd.ID), Body: body})
	if !isStale(err) {
		return cmd, err == nil, err
	}
	old, err := s.FindCommand(ctx, cmd.Sandbox, cmd.ID)
	if err != nil {
		return old, false, err
	}
	if !reflect.DeepEqual(old.Argv, cmd.Argv) || old.Script != cmd.Script || old.Dir != cmd.Dir || old.Timeout != cmd.Timeout {
		return old, false, berth.Errorf(berth.CodeConflict, "command %s is in use for another command", cmd.ID)
	}
	return old, false, nil
}

// FindCommand returns not_found.
func (s *Store) FindCommand(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID) (berth.Command, error) {
	var cmd berth.Command
	_, err := s.find(ctx, pkCommands(sandbox), skCommand(id), &cmd)
	return cmd, rename(err, berth.CodeNotFound, berth.Errorf(berth.CodeNotFound, "sandbox %s has no command %s", sandbox, id))
}
