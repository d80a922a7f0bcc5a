package httpapi

import (
	"bytes"
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/spool"
)

type logsInput struct {
	RunParams
	ReadParams
	Stage string `query:"stage" doc:"Stage to read; the one of the run's own command unless given" example:"command"`
}

func logOperations() []operation {
	return []operation{op("read-run-logs", spec{
		summary: "Read a stage's output",
		description: "Whole frames from offset on, limit bytes of them at most, but at least one. " +
			"A long poll: with wait it answers as soon as there is something. eof says that the stage has ended and that all is read.",
		codes: []berth.Code{berth.CodeConflict},
	}, (*API).readLogs)}
}

func (a *API) readLogs(ctx context.Context, in *logsInput) (*body[berth.OutputReply], error) {
	var f faults
	read := in.parse(&f)
	if in.Stage != "" {
		_, err := berth.ParseSlug("stage id", in.Stage)
		f.add("query.stage", err)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	id, err := a.run(ctx, in.RunParams)
	if err != nil {
		return nil, err
	}
	stage := berth.StageID(in.Stage)
	if stage == "" {
		if stage, err = a.commandStage(ctx, id); err != nil {
			return nil, err
		}
	}
	deadline := time.Now().Add(read.wait)
	reply, err := fitFrames(read.limit, func(limit int) (berth.OutputReply, error) {
		return poll(ctx, a, records.RunTopic(id), time.Until(deadline), func(ctx context.Context) (berth.OutputReply, bool, error) {
			reply, err := a.logsFrom(ctx, id, stage, read.offset, limit)
			return reply, reply.NextOffset > read.offset || reply.EOF, err
		})
	})
	return &body[berth.OutputReply]{reply}, err
}

// commandStage is the stage of the run's own command.
func (a *API) commandStage(ctx context.Context, id berth.RunID) (berth.StageID, error) {
	stages, err := a.cfg.Records.ListStages(ctx, id)
	if err != nil {
		return "", err
	}
	for _, stage := range stages {
		if stage.Kind == berth.StageCommand {
			return stage.ID, nil
		}
	}
	if _, err := a.cfg.Records.FindHead(ctx, id); err != nil {
		return "", err
	}
	return "", berth.FieldErrorf(berth.CodeInvalid, "query.stage", "is missing: this run has no command of its own")
}

func (a *API) logsFrom(ctx context.Context, id berth.RunID, stageID berth.StageID, offset int64, limit int) (berth.OutputReply, error) {
	reply := berth.OutputReply{Stage: stageID, Frames: []berth.Frame{}, NextOffset: offset}
	// The run's end is read before the stage: what the stage has then is all.
	head, err := a.cfg.Records.FindHead(ctx, id)
	if err != nil {
		return reply, err
	}
	stage, err := a.cfg.Records.FindStage(ctx, id, stageID)
	if err != nil {
		return reply, at("query.stage", err)
	}
	if offset > stage.Offset {
		return reply, berth.FieldErrorf(berth.CodeInvalid, "query.offset", "lies behind the output, which ends at %d so far", stage.Offset)
	}
	raw, err := a.rawLogs(ctx, id, stageID, offset, stage.Offset, limit)
	if err != nil {
		return reply, err
	}
	frames, _, err := spool.Decode(raw)
	if err != nil {
		return reply, at("query.offset", err)
	}
	reply.Frames = frames
	reply.NextOffset += int64(len(raw))
	if reply.NextOffset == stage.Offset && (stage.Status.Ended() || head.Status.Ended()) {
		reply.EOF, reply.Exit = true, stage.Exit
	}
	return reply, nil
}

// rawLogs returns whole frames between offset and end, at most limit bytes of
// them but one at least.
func (a *API) rawLogs(ctx context.Context, id berth.RunID, stage berth.StageID, offset, end int64, limit int) ([]byte, error) {
	var raw []byte
	for want := max(limit, spool.MaxFrame); len(raw) < want && offset+int64(len(raw)) < end; {
		piece, err := a.cfg.Records.ReadOutput(ctx, id, stage, offset+int64(len(raw)), want-len(raw))
		if err != nil {
			return nil, err
		}
		if len(piece) == 0 {
			break
		}
		raw = append(raw, piece...)
	}
	scan := spool.NewScanner(bytes.NewReader(raw))
	whole := int64(0)
	for scan.Next() {
		if whole > 0 && scan.End() > int64(limit) {
			break
		}
		whole = scan.End()
	}
	if err := scan.Err(); err != nil && whole == 0 {
		return nil, at("query.offset", err)
	}
	return raw[:whole], nil
}
