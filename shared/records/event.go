package records

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// storedEvent is an event as it is kept: with what the API does not show.
type storedEvent struct {
	berth.Event
	Raw  []byte `json:"raw,omitempty"`
	Blob string `json:"blob,omitempty"`
}

func eventItem(e berth.Event) (berth.Item, error) {
	stored := storedEvent{Event: e}
	if e.Output != nil {
		stored.Raw, stored.Blob = e.Output.Raw, e.Output.Blob
		stored.Event.Output = &berth.OutputPiece{From: e.Output.From, To: e.Output.To}
	}
	body, err := encode(stored)
	return berth.Item{PK: pkRun(e.Run), SK: skEvent(e.Seq), Body: body}, err
}

// ListEvents returns up to limit events with a sequence number above after, in
// order. Raw or Blob of an output piece says where its frames are.
func (s *Store) ListEvents(ctx context.Context, run berth.RunID, after int64, limit int) ([]berth.Event, error) {
	events := []berth.Event{}
	q := berth.Query{PK: pkRun(run), Prefix: prefixEvent, After: skEvent(after), Limit: limit}
	err := s.walk(ctx, q, func(item berth.Item) (bool, error) {
		var stored storedEvent
		if err := decode(item, &stored); err != nil {
			return false, err
		}
		if o := stored.Output; o != nil {
			o.Raw, o.Blob = stored.Raw, stored.Blob
		}
		events = append(events, stored.Event)
		return len(events) < limit, nil
	})
	return events, err
}
