package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

// follower shows a run as it happens: its command's output byte for byte, and
// all else as chatter; or, with events, every event as a line of JSON.
type follower struct {
	client *client.Client
	view   *terminal.View
	frames frameWriter
	events *json.Encoder
	clock  berth.Clock
	run    berth.Run
	begun  map[berth.StageID]time.Time
	// cancelling reports whether the end was asked for from here, and said so.
	cancelling func() bool
}

// frameWriter puts the frames of an output where they belong.
type frameWriter struct {
	stdout, stderr io.Writer
	view           *terminal.View
}

func (a *app) frameWriter(view *terminal.View) frameWriter {
	return frameWriter{
		stdout: view.Output(a.stdout, a.sameAsStderr(a.stdout)),
		stderr: view.Output(a.stderr, true),
		view:   view,
	}
}

func (w frameWriter) write(f berth.Frame) error {
	var err error
	switch f.Stream {
	case berth.Stdout:
		_, err = w.stdout.Write(f.Data)
	case berth.Stderr:
		_, err = w.stderr.Write(f.Data)
	case berth.Mark:
		w.view.Say("berth: " + terminal.Clean(strings.TrimSpace(string(f.Data))))
	}
	return local(err, "writing the output")
}

func (a *app) follower(c *client.Client, view *terminal.View, run berth.Run, asJSON bool) *follower {
	f := &follower{
		client: c, view: view, frames: a.frameWriter(view), clock: a.clock, run: run,
		begun: map[berth.StageID]time.Time{}, cancelling: func() bool { return false },
	}
	if asJSON {
		f.events = json.NewEncoder(f.frames.stdout)
		f.events.SetEscapeHTML(false)
	}
	return f
}

// follow shows everything after event number `after` until the run has ended,
// and returns the run as it ended.
func (f *follower) follow(ctx context.Context, after int64) (berth.Run, error) {
	err := f.client.FollowEvents(ctx, f.run.ID, after, func(e berth.Event) error { return f.show(ctx, e) })
	f.view.Idle()
	if err != nil {
		return f.run, err
	}
	return f.client.FindRun(ctx, f.run.ID)
}

func (f *follower) show(ctx context.Context, e berth.Event) error {
	f.progress(e)
	if f.events != nil {
		return f.showJSON(ctx, e)
	}
	if e.Kind != berth.EventOutput || e.Output == nil {
		return nil
	}
	return f.client.ReadPiece(ctx, f.run.ID, e.Stage, *e.Output, f.frames.write)
}

// showJSON prints one line; output that the event only refers to is put in.
func (f *follower) showJSON(ctx context.Context, e berth.Event) error {
	if e.Output != nil && len(e.Output.Frames) == 0 {
		piece := *e.Output
		err := f.client.ReadPiece(ctx, f.run.ID, e.Stage, *e.Output, func(frame berth.Frame) error {
			piece.Frames = append(piece.Frames, frame)
			return nil
		})
		if err != nil {
			return err
		}
		e.Output = &piece
	}
	return local(f.events.Encode(e), "writing the output")
}

// progress turns an event into chatter.
func (f *follower) progress(e berth.Event) {
	now := f.clock.Now()
	switch e.Kind {
	case berth.EventRunStatus:
		if e.Status == string(berth.RunQueued) && e.Reason != nil {
			f.view.Note("berth: queued: %s", terminal.Clean(e.Reason.Message))
		}
		if !berth.RunStatus(e.Status).Ended() {
			f.view.Busy(e.Status, now)
		}
	case berth.EventSandboxStatus, berth.EventSandboxProgress:
		if e.Kind == berth.EventSandboxProgress && e.Reason != nil { // it does not go on as it should
			f.view.Note("berth: sandbox: %s", terminal.Clean(e.Message))
		}
		f.view.Busy("sandbox "+cmp.Or(e.Message, e.Status), now)
	case berth.EventStageStarted:
		f.begun[e.Stage] = e.Time
		f.view.Busy(f.stageName(e.Stage), now)
	case berth.EventStageEnded:
		f.view.Idle()
		f.stageEnded(e)
	case berth.EventCancelRequested:
		if !f.cancelling() {
			f.view.Note("berth: cancelling")
		}
	case berth.EventNotice:
		f.view.Note("berth: %s", terminal.Clean(e.Message))
	}
}

// stageEnded gives each stage a line, but for the one that is the run's own
// command: its end is the run's.
func (f *follower) stageEnded(e berth.Event) {
	stage := f.stage(e.Stage)
	if stage.Kind == berth.StageCommand || stage.Kind == "" {
		return
	}
	mark := "✓"
	text := f.stageName(e.Stage)
	if e.Exit != nil && !e.Exit.Succeeded() {
		mark, text = "✗", text+": "+exitText(*e.Exit)
	}
	if from, ok := f.begun[e.Stage]; ok {
		text += " (" + terminal.Span(e.Time.Sub(from)) + ")"
	}
	f.view.Note("berth: %s %s", mark, text)
}

func (f *follower) stage(id berth.StageID) berth.Stage {
	for _, s := range f.run.Stages {
		if s.ID == id {
			return s
		}
	}
	return berth.Stage{ID: id}
}

// stageName is what people know a stage by: the run's own command by itself.
func (f *follower) stageName(id berth.StageID) string {
	stage := f.stage(id)
	if stage.Kind == berth.StageCommand {
		return oneLine(commandText(f.run))
	}
	return terminal.Clean(cmp.Or(stage.Name, string(id)))
}

// exitText says how a command ended.
func exitText(e berth.Exit) string {
	var text string
	switch e.Reason {
	case berth.ExitExited:
		text = fmt.Sprintf("exit %d", e.Code)
	case berth.ExitSignalled:
		text = fmt.Sprintf("killed by signal %s (%d)", e.Signal, e.Code)
	default:
		text = strings.ReplaceAll(string(e.Reason), "_", " ")
	}
	if e.Message != "" {
		text += ": " + terminal.Clean(e.Message)
	}
	return text
}
