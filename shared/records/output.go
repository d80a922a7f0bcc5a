package records

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/berth-dev/berth/shared/berth"
)

// inlineOutput is the most output that an event carries itself.
const inlineOutput = 4 * 1024

// outputChunk is one recorded piece of a stage's spool.
type outputChunk struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Raw  []byte `json:"raw,omitempty"`
	Blob string `json:"blob,omitempty"`
}

func blobPrefix(run berth.RunID) string { return "runs/" + string(run) + "/" }

// Appended is what became of an append.
type Appended struct {
	// Ours is false when another writer was faster, or the stage has ended: then
	// nothing was written, and Stage says where to go on.
	Ours  bool
	Stage berth.Stage
	Head  Head
}

// AppendOutput records the frames of a stage's spool from offset from on, which
// must be where the record ends: event, stage offset and head change in one
// transaction. Another writer's being faster is no error. also joins the
// transaction; it is for what ends with this piece.
func (s *Store) AppendOutput(ctx context.Context, run berth.RunID, stage berth.StageID, from int64, raw []byte, also func(*Change, *berth.Stage) error) (done Appended, err error) {
	to := from + int64(len(raw))
	chunk := outputChunk{From: from, To: to}
	if len(raw) > inlineOutput {
		sum := sha256.Sum256(raw)
		chunk.Blob = fmt.Sprintf("%s%s/%016d-%016d-%x", blobPrefix(run), stage, from, to, sum[:8])
		if err := s.Blobs.Put(ctx, chunk.Blob, bytes.NewReader(raw), int64(len(raw))); err != nil {
			return done, fmt.Errorf("keeping output of run %s: %w", run, err)
		}
	} else {
		chunk.Raw = raw
	}
	body, err := encode(chunk)
	if err != nil {
		return done, err
	}
	var st *berth.Stage
	done.Head, err = s.ChangeRun(ctx, run, func(c *Change) error {
		if st, err = c.Stage(ctx, stage); err != nil {
			return err
		}
		done.Ours = st.Offset == from && !st.Status.Ended()
		if !done.Ours {
			return ErrUnchanged
		}
		st.Offset = to
		if len(raw) > 0 {
			c.Write(berth.Write{Item: berth.Item{PK: pkRun(run), SK: skOutput(stage, from), Body: body}})
			c.Event(berth.Event{Kind: berth.EventOutput, Stage: stage, Output: &berth.OutputPiece{From: from, To: to, Raw: chunk.Raw, Blob: chunk.Blob}})
		}
		if also != nil {
			return also(c, st)
		}
		return nil
	})
	if st != nil {
		done.Stage = *st
	}
	return done, err
}

// ReadOutput returns recorded spool bytes of a stage from offset on, at most
// limit and never past one recorded piece; none when nothing is recorded there.
// The offset must lie within what is recorded.
func (s *Store) ReadOutput(ctx context.Context, run berth.RunID, stage berth.StageID, offset int64, limit int) ([]byte, error) {
	q := berth.Query{
		PK: pkRun(run), Prefix: prefixStageOutput(stage), Before: skOutput(stage, offset+1), Descending: true, Limit: 1,
	}
	var chunk outputChunk
	found := false
	err := s.walk(ctx, q, func(item berth.Item) (bool, error) {
		found = true
		return false, decode(item, &chunk)
	})
	if err != nil || !found || offset >= chunk.To {
		return nil, err
	}
	length := min(chunk.To-offset, int64(limit))
	if chunk.Blob == "" {
		return chunk.Raw[offset-chunk.From:][:length], nil
	}
	r, err := s.Blobs.Open(ctx, chunk.Blob, offset-chunk.From, length)
	if err != nil {
		return nil, fmt.Errorf("reading output of run %s: %w", run, err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, length))
	if err == nil && int64(len(raw)) != length {
		err = io.ErrUnexpectedEOF
	}
	return raw, berth.Wrap(err, "reading output of run "+string(run))
}
