package records

import (
	"context"
	"fmt"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// MaxStages is the most stages of a run: they are written, and at the end
// closed, in one transaction with its head, definition, first event, sandbox
// and mark of being live.
const MaxStages = berth.MaxTransactionItems - 5

// CreateRun writes a new run: head, definition, stages, sandbox intent and the
// first event, in one transaction. The head's ID and CreatedBy are the caller's,
// and so is the sandbox but for its run and times. Errors: conflict, too_large,
// invalid (too many stages).
func (s *Store) CreateRun(ctx context.Context, head Head, def berth.Definition, stages []berth.Stage, sandbox berth.Sandbox) (Head, error) {
	if len(stages) > MaxStages {
		return head, berth.Errorf(berth.CodeInvalid, "a run has at most %d stages", MaxStages)
	}
	now := s.Clock.Now()
	sandbox.Run, sandbox.CreatedAt, sandbox.UpdatedAt = head.ID, now, now
	head.Sandbox = sandbox.ID
	head.Status, head.CreatedAt, head.Events, head.Execution = berth.RunSubmitted, now, 1, 1
	head.Environment = def.Environment.ID
	head.Summary = Summarize(def.Command, def.Script)
	headItem, err := head.item(0)
	if err != nil {
		return head, err
	}
	body, err := encode(def)
	if err != nil {
		return head, err
	}
	if len(body) > berth.MaxItemBytes {
		return head, berth.Errorf(berth.CodeTooLarge, "the resolved run is %d bytes, the limit is %d: shorten the command, the script or the environment's variables", len(body), berth.MaxItemBytes)
	}
	event, err := eventItem(berth.Event{Run: head.ID, Seq: 1, Time: now, Kind: berth.EventRunStatus, Status: string(head.Status)})
	if err != nil {
		return head, err
	}
	sandboxItem, err := sandboxItem(sandbox, 0)
	if err != nil {
		return head, err
	}
	writes := []berth.Write{
		{Item: headItem},
		{Item: berth.Item{PK: pkRun(head.ID), SK: skDefinition, Body: body}},
		{Item: event},
		{Item: sandboxItem},
		{Item: liveItem(head.ID, 0)},
	}
	for _, stage := range stages {
		item, err := stageItem(head.ID, stage, 0)
		if err != nil {
			return head, err
		}
		writes = append(writes, berth.Write{Item: item})
	}
	err = s.Table.Transact(ctx, writes)
	return head, rename(err, berth.CodeStale, berth.Errorf(berth.CodeConflict, "run %s exists already", head.ID))
}

// FindHead returns not_found for a run that does not exist.
func (s *Store) FindHead(ctx context.Context, id berth.RunID) (Head, error) {
	head, _, err := s.findHead(ctx, id)
	return head, err
}

func (s *Store) findHead(ctx context.Context, id berth.RunID) (head Head, version int64, err error) {
	version, err = s.find(ctx, pkRun(id), skHead, &head)
	return head, version, rename(err, berth.CodeNotFound, berth.Errorf(berth.CodeNotFound, "run %s does not exist", id))
}

// FindDefinition returns what the run does.
func (s *Store) FindDefinition(ctx context.Context, id berth.RunID) (berth.Definition, error) {
	var def berth.Definition
	_, err := s.find(ctx, pkRun(id), skDefinition, &def)
	return def, rename(err, berth.CodeNotFound, berth.Errorf(berth.CodeNotFound, "run %s does not exist", id))
}

// FindRun returns the whole run as the API shows it.
func (s *Store) FindRun(ctx context.Context, id berth.RunID) (berth.Run, error) {
	var (
		def    berth.Definition
		stages []berth.Stage
		defErr error
		stErr  error
		wg     sync.WaitGroup
	)
	wg.Go(func() { def, defErr = s.FindDefinition(ctx, id) })
	wg.Go(func() { stages, stErr = s.ListStages(ctx, id) })
	head, err := s.FindHead(ctx, id)
	wg.Wait()
	for _, e := range []error{err, defErr, stErr} {
		if e != nil {
			return berth.Run{}, e
		}
	}
	return berth.Run{
		ID: head.ID, Status: head.Status, Reason: head.Reason, Exit: head.Exit,
		Environment: def.Environment, Target: def.Target, Sandbox: head.Sandbox,
		Command: def.Command, Script: def.Script, Stages: stages, Labels: nonNil(def.Labels),
		Warnings: nonNilSlice(def.Warnings), CancelRequested: head.CancelRequested, Hint: head.Hint,
		CreatedBy: head.CreatedBy, CreatedAt: head.CreatedAt, StartedAt: head.StartedAt, EndedAt: head.EndedAt,
	}, nil
}

// DeleteRun removes an ended run with all that belongs to it; a live one is a
// conflict. It may be called again after it was cut short: the head goes last.
func (s *Store) DeleteRun(ctx context.Context, id berth.RunID) error {
	head, version, err := s.findHead(ctx, id)
	if err != nil {
		return err
	}
	if !head.Status.Ended() {
		return berth.Errorf(berth.CodeConflict, "run %s is %s: cancel it before you delete it", id, head.Status)
	}
	if err := s.Blobs.DeletePrefix(ctx, blobPrefix(id)); err != nil {
		return fmt.Errorf("deleting output of run %s: %w", id, err)
	}
	var batch []berth.Write
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := s.Table.Transact(ctx, batch)
		batch = batch[:0]
		return err
	}
	err = s.walk(ctx, berth.Query{PK: pkRun(id)}, func(item berth.Item) (bool, error) {
		if item.SK == skHead {
			return true, nil
		}
		item.Body = nil
		batch = append(batch, berth.Write{Item: item, Delete: true})
		if len(batch) == berth.MaxTransactionItems {
			return true, flush()
		}
		return true, nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = s.Table.Delete(ctx, pkRun(id), skHead, version)
	}
	return berth.Wrap(err, "deleting run "+string(id))
}

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func nonNilSlice[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
