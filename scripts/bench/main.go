// Command bench prints berth's budgets as ratios, each beside an anchor that is
// measured in the same run: blocks of one side, then of the other, never
// interleaved. It exits with 1 when a budget is missed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/emulator"
)

// row is one line of the report.
type row struct {
	what, anchor string
	ours, theirs string
	ratio        float64
	budget       float64 // 0 is none
	note         string
}

func (r row) print() {
	verdict := "no budget"
	if r.budget > 0 {
		verdict = fmt.Sprintf("budget ≤ %.2f", r.budget)
	}
	if r.missed() {
		verdict += ", MISSED"
	}
	fmt.Printf("%-48s %10s  against %10s of %s: %.3f, %s\n", r.what, r.ours, r.theirs, r.anchor, r.ratio, verdict)
	if r.note != "" {
		fmt.Printf("    %s\n", r.note)
	}
}

func (r row) missed() bool { return r.budget > 0 && r.ratio > r.budget }

// plan is how much each row measures.
type plan struct {
	berth  string
	blocks int
	block  int // calls a block
	pause  time.Duration
	image  string
	only   string
	// emulator is where functions run.
	emulator string
}

func main() {
	p := plan{}
	flag.StringVar(&p.berth, "berth", "bin/berth", "the program")
	flag.IntVar(&p.blocks, "blocks", 5, "blocks a side")
	flag.IntVar(&p.block, "block", 200, "calls a block")
	flag.DurationVar(&p.pause, "pause", 2*time.Second, "between blocks")
	flag.StringVar(&p.image, "image", "berth-test/debian", "image of the docker rows")
	flag.StringVar(&p.emulator, "emulator", string(emulator.LocalStack), "of the rows about functions: localstack or ministack")
	flag.StringVar(&p.only, "only", "", "local, docker, counted, far or functions: only these rows")
	flag.Parse()
	// What was begun is also taken away when somebody ends it early.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	missed, err := run(ctx, p)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if missed {
		os.Exit(1)
	}
}

func run(ctx context.Context, p plan) (missed bool, err error) {
	if len(os.Getenv(anchorEnv)) > 0 {
		return false, serveAnchor()
	}
	s, err := startServer(ctx, p.berth)
	if err != nil {
		return false, err
	}
	defer s.stop()
	var measures []func(context.Context, plan, *server) (row, error)
	wanted := func(group string) bool { return p.only == "" || p.only == group }
	if wanted("local") {
		measures = append(measures, benchCommand, benchExec, benchRun, benchEnvironment, benchVolume)
	}
	if wanted("docker") {
		d, err := openDocker(ctx, s, p.image)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: no docker rows:", err)
		} else {
			defer d.close(context.WithoutCancel(ctx))
			measures = append(measures, d.rows()...)
		}
	}
	if wanted("counted") {
		measures = append(measures, benchTransitions, benchUnits)
	}
	if wanted("far") {
		measures = append(measures, benchSSH, benchSnapshot)
	}
	if wanted("functions") {
		c, err := openCloud(ctx, p.emulator)
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: no rows about functions:", err)
		} else {
			defer c.close()
			measures = append(measures, c.rows()...)
		}
	}
	for _, measure := range measures {
		r, err := measure(ctx, p, s)
		if err == nil {
			err = ctx.Err() // then the row is of no use
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.what, err)
		}
		r.print()
		missed = missed || r.missed()
	}
	return missed, nil
}
