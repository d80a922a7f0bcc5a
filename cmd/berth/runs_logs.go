package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

type logsFlags struct {
	stage          string
	follow, asJSON bool
}

func runsLogsCommand(a *app) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use: "logs RUN", Short: "Print the recorded output of a run",
		Long: `Print the recorded output of a run's stages, byte for byte: what was written to
standard output goes to standard output, the rest to standard error.`,
		Example:           "  berth runs logs 01k5m3v9x2qf\n  berth runs logs -f 01k5m3v9x2qf\n  berth runs logs --stage command 01k5m3v9x2qf > build.log",
		Args:              exactArgs("the run's id"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runsLogs(cmd.Context(), runID(args[0]), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on until the run has ended")
	flags.StringVar(&f.stage, "stage", "", "only this `stage`, by its id or name")
	flags.BoolVar(&f.asJSON, "json", false, "print each piece of output as a line of JSON")
	_ = cmd.RegisterFlagCompletionFunc("stage", a.completeStages)
	return cmd
}

func (a *app) runsLogs(ctx context.Context, id berth.RunID, f logsFlags) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	run, err := c.FindRun(ctx, id)
	if err != nil {
		return err
	}
	if f.stage != "" {
		if f.stage, err = stageOf(run, f.stage); err != nil {
			return err
		}
	}
	view := a.view()
	defer view.Close()
	l := logPrinter{client: c, run: run, frames: a.frameWriter(view), view: view, flags: f}
	if f.asJSON {
		l.lines = json.NewEncoder(l.frames.stdout)
	}
	switch {
	case f.stage != "":
		return l.one(ctx)
	case f.follow:
		return l.followAll(ctx)
	}
	return l.all(ctx)
}

type logPrinter struct {
	client *client.Client
	run    berth.Run
	frames frameWriter
	view   *terminal.View
	lines  *json.Encoder
	flags  logsFlags
}

// logLine is one piece of output as --json prints it.
type logLine struct {
	Stage  berth.StageID `json:"stage"`
	Stream berth.Stream  `json:"stream"`
	Data   []byte        `json:"data"`
}

func (l logPrinter) print(stage berth.StageID, frame berth.Frame) error {
	if l.lines != nil {
		return local(l.lines.Encode(logLine{stage, frame.Stream, frame.Data}), "writing the output")
	}
	return l.frames.write(frame)
}

// one prints a single stage.
func (l logPrinter) one(ctx context.Context) error {
	stage := berth.StageID(l.flags.stage)
	if l.flags.follow {
		_, err := l.client.FollowLogs(ctx, l.run.ID, stage, 0, func(o berth.OutputReply) error { return l.printAll(stage, o.Frames) })
		return err
	}
	return l.recorded(ctx, stage)
}

// all prints what is recorded of every stage, in their order.
func (l logPrinter) all(ctx context.Context) error {
	for _, stage := range l.run.Stages {
		if stage.Status == berth.StagePending || stage.Status == berth.StageSkipped {
			continue
		}
		if len(l.run.Stages) > 1 {
			l.view.Note("berth: stage %s", stage.ID)
		}
		if err := l.recorded(ctx, stage.ID); err != nil {
			return err
		}
	}
	return nil
}

// recorded prints a stage's output up to where it is now.
func (l logPrinter) recorded(ctx context.Context, stage berth.StageID) error {
	for offset := int64(0); ; {
		reply, err := l.client.ReadLogs(ctx, l.run.ID, stage, client.Reading{Offset: offset, Limit: berth.MaxOutputRead})
		if err != nil {
			return err
		}
		if err := l.printAll(stage, reply.Frames); err != nil {
			return err
		}
		if reply.EOF || reply.NextOffset <= offset {
			return nil
		}
		offset = reply.NextOffset
	}
}

func (l logPrinter) printAll(stage berth.StageID, frames []berth.Frame) error {
	for _, frame := range frames {
		if err := l.print(stage, frame); err != nil {
			return err
		}
	}
	return nil
}

// followAll prints the output of every stage as the run's history tells it.
func (l logPrinter) followAll(ctx context.Context) error {
	return l.client.FollowEvents(ctx, l.run.ID, 0, func(e berth.Event) error {
		if e.Kind != berth.EventOutput || e.Output == nil {
			return nil
		}
		return l.client.ReadPiece(ctx, l.run.ID, e.Stage, *e.Output, func(frame berth.Frame) error {
			return l.print(e.Stage, frame)
		})
	})
}
