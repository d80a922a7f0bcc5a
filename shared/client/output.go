package client

import (
	"context"
	"maps"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Reading says which part of an output to read. The zero value is the first
// piece, as it is now.
type Reading struct {
	Offset int64         // a frame edge: NextOffset of the piece before
	Limit  int           // bytes, at most 1 MiB; the server's choice when 0
	Wait   time.Duration // for the first byte, when nothing is there yet
}

func (k call) reading(r Reading) call {
	return k.number("offset", r.Offset).number("limit", int64(r.Limit)).waiting(r.Wait)
}

// ReadLogs returns recorded output of one stage of a run; an empty stage is the
// one that the run's own command is.
func (c *Client) ReadLogs(ctx context.Context, run berth.RunID, stage berth.StageID, r Reading) (berth.OutputReply, error) {
	return c.readOutput(ctx, get(route("runs", string(run), "logs")).param("stage", string(stage)), r)
}

// ReadOutput returns output of a command.
func (c *Client) ReadOutput(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID, r Reading) (berth.OutputReply, error) {
	return c.readOutput(ctx, get(route("sandboxes", string(sandbox), "commands", string(id), "output")), r)
}

func (c *Client) readOutput(ctx context.Context, k call, r Reading) (berth.OutputReply, error) {
	var out berth.OutputReply
	_, err := c.do(ctx, k.reading(r), &out)
	return out, err
}

// FollowLogs hands the output of a stage to each, piece by piece and each once,
// until the stage has ended and all is read; exit is the stage's. It outlasts a
// restart of the server.
func (c *Client) FollowLogs(ctx context.Context, run berth.RunID, stage berth.StageID, offset int64, each func(berth.OutputReply) error) (exit *berth.Exit, err error) {
	return c.follow(ctx, get(route("runs", string(run), "logs")).param("stage", string(stage)), offset, each)
}

// FollowOutput is FollowLogs for a command.
func (c *Client) FollowOutput(ctx context.Context, sandbox berth.SandboxID, id berth.CommandID, offset int64, each func(berth.OutputReply) error) (exit *berth.Exit, err error) {
	return c.follow(ctx, get(route("sandboxes", string(sandbox), "commands", string(id), "output")), offset, each)
}

func (c *Client) follow(ctx context.Context, k call, offset int64, each func(berth.OutputReply) error) (*berth.Exit, error) {
	k.patience = c.followPatience
	for {
		query := k
		query.query = maps.Clone(k.query)
		reply, err := c.readOutput(ctx, query, Reading{Offset: offset, Limit: berth.MaxOutputRead, Wait: MaxWait})
		if err != nil {
			return nil, err
		}
		if len(reply.Frames) > 0 || reply.EOF {
			if err := each(reply); err != nil {
				return nil, err
			}
		}
		offset = reply.NextOffset
		if reply.EOF {
			return reply.Exit, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// ReadPiece hands the frames of an output event to each: those that the event
// carries, or else those that the stage's log has there.
func (c *Client) ReadPiece(ctx context.Context, run berth.RunID, stage berth.StageID, piece berth.OutputPiece, each func(berth.Frame) error) error {
	frames := piece.Frames
	for offset := piece.From; offset < piece.To; {
		next := piece.To
		if len(piece.Frames) == 0 {
			limit := min(piece.To-offset, berth.MaxOutputRead)
			reply, err := c.ReadLogs(ctx, run, stage, Reading{Offset: offset, Limit: int(limit)})
			if err != nil {
				return err
			}
			if reply.NextOffset <= offset {
				return berth.Errorf(berth.CodeNotFound, "the output of run %s, stage %s from %d to %d is not there", run, stage, offset, piece.To)
			}
			frames, next = reply.Frames, reply.NextOffset
		}
		for _, frame := range frames {
			if err := each(frame); err != nil {
				return err
			}
		}
		offset = next
	}
	return nil
}
