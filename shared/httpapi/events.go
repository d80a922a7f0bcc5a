package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/spool"
)

type eventsInput struct {
	RunParams
	WaitParams
	After  string `query:"after" doc:"Sequence number to begin after; 0 unless given" example:"0"`
	Limit  string `query:"limit" maximum:"100" doc:"Most events, 1 to 100; 100 unless given" example:"100"`
	LastID string `header:"Last-Event-ID" doc:"With text/event-stream: the id that was read last; it beats after"`
	Accept string `header:"Accept" hidden:"true"`
}

// eventsReply is JSON, or a stream of server-sent events.
type eventsReply struct {
	Body func(huma.Context)
}

func eventOperations() []operation {
	return []operation{op("read-run-events", spec{
		summary: "Read a run's events",
		description: "A long poll: with wait it answers as soon as there is an event after `after`, and at once when the run has ended. " +
			"Output of up to 4 KiB is in its event; larger pieces are read from the logs. " +
			"The embedded server streams with `Accept: text/event-stream`.",
		codes: []berth.Code{berth.CodeConflict}, gives: berth.EventsReply{},
		media: map[string]string{mediaEvents: "Embedded server only: one event each with its sequence number as id, its kind as event, and its JSON as data"},
	}, (*API).readEvents)}
}

func (a *API) readEvents(ctx context.Context, in *eventsInput) (*eventsReply, error) {
	var f faults
	after, err := number("query.after", in.After, 0, 0, math.MaxInt64)
	f.add("query.after", err)
	limit, err := number("query.limit", in.Limit, maxLimit, 1, maxLimit)
	f.add("query.limit", err)
	wait, err := in.wait()
	f.add("query.wait", err)
	streams := a.cfg.Embedded && accepts(in.Accept, mediaEvents)
	if streams && in.LastID != "" {
		after, err = number("header.Last-Event-ID", in.LastID, 0, 0, math.MaxInt64)
		f.add("header.Last-Event-ID", err)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	id, err := a.run(ctx, in.RunParams)
	if err != nil {
		return nil, err
	}
	if streams {
		if _, err := a.cfg.Records.FindHead(ctx, id); err != nil {
			return nil, err
		}
		return &eventsReply{func(hc huma.Context) { a.streamEvents(exchangeOf(hc.Context()), id, after) }}, nil
	}
	reply, err := a.pollEvents(ctx, id, after, int(limit), wait)
	if err != nil {
		return nil, err
	}
	return &eventsReply{func(hc huma.Context) { exchangeOf(hc.Context()).replyJSON(reply) }}, nil
}

func (a *API) pollEvents(ctx context.Context, id berth.RunID, after int64, limit int, wait time.Duration) (berth.EventsReply, error) {
	return poll(ctx, a, records.RunTopic(id), wait, func(ctx context.Context) (berth.EventsReply, bool, error) {
		reply, err := a.eventsAfter(ctx, id, after, limit)
		return reply, len(reply.Items) > 0 || reply.EOF, err
	})
}

// eventsAfter reads what is there now, as much as fits into an answer.
func (a *API) eventsAfter(ctx context.Context, id berth.RunID, after int64, limit int) (berth.EventsReply, error) {
	reply := berth.EventsReply{Items: []berth.Event{}, NextAfter: after}
	events, err := a.cfg.Records.ListEvents(ctx, id, after, limit)
	if err != nil {
		return reply, err
	}
	room := replyRoom
	for i := range events {
		if err := inlineFrames(&events[i]); err != nil {
			return reply, err
		}
		size := sizeOf(events[i])
		if room -= size; room < 0 && i > 0 {
			return reply, nil
		}
		reply.Items = append(reply.Items, events[i])
		reply.NextAfter = events[i].Seq
	}
	if len(events) == limit {
		return reply, nil
	}
	head, err := a.cfg.Records.FindHead(ctx, id)
	if err != nil {
		return reply, err
	}
	reply.EOF = head.Status.Ended() && reply.NextAfter >= head.Events
	return reply, nil
}

// inlineFrames shows output that is stored within its event.
func inlineFrames(e *berth.Event) error {
	if e.Output == nil || len(e.Output.Raw) == 0 {
		return nil
	}
	frames, _, err := spool.Decode(e.Output.Raw)
	e.Output.Frames = joinFrames(frames)
	return berth.Wrap(err, "reading an event of run "+string(e.Run))
}

func sizeOf(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b) + 1
}

// accepts reports whether an Accept header names a media type.
func accepts(header, media string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), media) {
			return true
		}
	}
	return false
}
