// Command bench prints berth's budgets as ratios, each beside an anchor that is
// measured in the same run: blocks of one side, then of the other, never
// interleaved. It exits with 1 when a budget is missed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"
)

// row is one line of the report.
type row struct {
	what, anchor string
	ours, theirs string
	ratio        float64
	budget       float64 // 0 is none
	note         string
}

func (r row) missed() bool { return r.budget > 0 && r.ratio > r.budget }

// plan is how much each row measures.
type plan struct {
	berth  string
	blocks int
	block  int // calls a block
	pause  time.Duration
}

func main() {
	p := plan{}
	flag.StringVar(&p.berth, "berth", "bin/berth", "the program")
	flag.IntVar(&p.blocks, "blocks", 5, "blocks a side")
	flag.IntVar(&p.block, "block", 200, "calls a block")
	flag.DurationVar(&p.pause, "pause", 2*time.Second, "between blocks")
	flag.Parse()
	missed, err := run(context.Background(), p)
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
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "WHAT\tOURS\tANCHOR\tIS\tRATIO\tBUDGET\t")
	for _, measure := range []func(context.Context, plan, *server) (row, error){
		benchCommand, benchExec, benchRun, benchEnvironment, benchVolume,
	} {
		r, err := measure(ctx, p, s)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.what, err)
		}
		verdict := "–"
		if r.budget > 0 {
			verdict = fmt.Sprintf("≤ %.2f", r.budget)
		}
		if r.missed() {
			verdict += " MISSED"
			missed = true
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%.2f\t%s\t%s\n", r.what, r.ours, r.anchor, r.theirs, r.ratio, verdict, r.note)
		out.Flush()
	}
	return missed, nil
}
