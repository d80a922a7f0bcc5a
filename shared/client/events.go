package client

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// ReadEvents returns events after a sequence number. When there are none yet,
// the server waits for up to wait.
func (c *Client) ReadEvents(ctx context.Context, run berth.RunID, after int64, limit int, wait time.Duration) (berth.EventsReply, error) {
	return c.readEvents(ctx, run, after, limit, wait, 0)
}

func (c *Client) readEvents(ctx context.Context, run berth.RunID, after int64, limit int, wait, patience time.Duration) (berth.EventsReply, error) {
	var out berth.EventsReply
	k := get(route("runs", string(run), "events")).number("after", after).number("limit", int64(limit)).waiting(wait)
	k.patience = patience
	_, err := c.do(ctx, k, &out)
	return out, err
}

// FollowEvents hands every event after a sequence number to each, in order and
// once, until the run has ended. It outlasts a restart of the server. An error
// of each ends it and is returned.
func (c *Client) FollowEvents(ctx context.Context, run berth.RunID, after int64, each func(berth.Event) error) error {
	for {
		reply, err := c.readEvents(ctx, run, after, 100, MaxWait, c.followPatience)
		if err != nil {
			return err
		}
		for _, event := range reply.Items {
			if err := each(event); err != nil {
				return err
			}
			after = event.Seq
		}
		if reply.EOF {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
