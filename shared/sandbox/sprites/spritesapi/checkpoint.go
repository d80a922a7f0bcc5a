package spritesapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Checkpoint is a kept state of a sprite's disk.
type Checkpoint struct {
	ID        string    `json:"id"`
	Comment   string    `json:"comment"`
	Automatic bool      `json:"is_auto"`
	CreatedAt time.Time `json:"create_time"`
}

// checkpointLimit is how long one may take.
const checkpointLimit = 5 * time.Minute

// Checkpoints lists what was kept.
func (c *Client) Checkpoints(ctx context.Context, name string) ([]Checkpoint, error) {
	var all []Checkpoint
	err := c.do(ctx, request{method: http.MethodGet, url: c.at(nil, "v1", "sprites", name, "checkpoints")}, &all)
	return all, err
}

// CreateCheckpoint keeps the disk as it is. It is sent once: after unavailable the
// checkpoint may be there. Errors: not_found; unavailable with what the service
// says, also when it stops before it says that the checkpoint is complete.
func (c *Client) CreateCheckpoint(ctx context.Context, name, comment string) error {
	body, err := c.stream(ctx, request{
		method: http.MethodPost, url: c.at(nil, "v1", "sprites", name, "checkpoint"),
		body: map[string]string{"comment": comment}, once: true, limit: checkpointLimit, plain: true,
	})
	if err != nil {
		return err
	}
	complete := false
	scan := bufio.NewScanner(bytes.NewReader(body))
	scan.Buffer(nil, maxReply)
	for scan.Scan() {
		var line struct{ Type, Data, Error string }
		if len(bytes.TrimSpace(scan.Bytes())) == 0 {
			continue
		}
		if json.Unmarshal(scan.Bytes(), &line) != nil {
			return berth.Errorf(berth.CodeUnavailable, "Sprites answers to a checkpoint with something else than lines of JSON")
		}
		if line.Type == "error" || line.Error != "" {
			return berth.Errorf(berth.CodeUnavailable, "Sprites could not keep the disk: %s", c.words(ctx, line.Error+" "+line.Data))
		}
		complete = complete || line.Type == "complete"
	}
	if scan.Err() != nil || !complete {
		return berth.Errorf(berth.CodeUnavailable, "Sprites does not say what became of the checkpoint")
	}
	return nil
}

// stream is do for an answer of lines.
func (c *Client) stream(ctx context.Context, r request) ([]byte, error) {
	raw, err := json.Marshal(r.body)
	if err != nil {
		return nil, berth.Wrap(err, "writing a request to Sprites")
	}
	r.raw = raw
	return c.send(ctx, r)
}
