package runner

import (
	"context"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/spool"
)

// pieceBytes is when a piece of output is recorded whatever the time: as much as
// one read of the log returns, less the frame that may be one too many.
const pieceBytes = berth.MaxOutputRead - spool.MaxFrame

// follower is one Follow at work.
type follower struct {
	runner   *Runner
	run      berth.RunID
	provider berth.Provider
	ref      berth.SandboxRef
	stage    berth.Stage

	offset  int64  // where the record ends
	pending []byte // what was read past it
	// paced is when the records made so far would be even; it may run ahead of the
	// clock by a burst, so that a few lines in a row are recorded at once each.
	paced time.Time

	cancelled bool // the run is to end
	told      bool // and the provider knows

	began, heard time.Time
	heardAny     bool
	lag          lag
}

// follow returns when the stage has ended, or when it has been attached for long enough.
func (f *follower) follow(ctx context.Context) (ended bool, err error) {
	for {
		if err := f.cancel(ctx); err != nil {
			return false, err
		}
		out, err := f.read(ctx)
		if err != nil {
			return false, err
		}
		now := f.runner.Clock.Now()
		if len(out.Bytes) > 0 {
			f.heard, f.heardAny = now, true
			full := !out.Ended && len(f.pending)+len(out.Bytes)+spool.MaxFrame > berth.MaxOutputRead
			f.lag.read(now, full, len(f.pending) == 0)
			f.keep(out.Bytes)
		}
		if out.Ended {
			if ended, err := f.flush(ctx, out.Exit); err != nil || ended {
				return ended, err
			}
			continue
		}
		if len(f.pending) > 0 && (len(f.pending) >= pieceBytes || f.flushIn(now) <= 0) {
			if ended, err := f.flush(ctx, nil); err != nil || ended {
				return ended, err
			}
			continue
		}
		if len(out.Bytes) == 0 && (len(f.pending) == 0 || f.silent()) {
			if gone, err := f.look(ctx); err != nil || gone {
				return gone, err
			}
		}
		if f.remaining(now) <= 0 {
			if len(f.pending) > 0 {
				return f.flush(ctx, nil)
			}
			return false, nil
		}
	}
}

// keep adds to what is pending without a copy when nothing is.
func (f *follower) keep(b []byte) {
	if len(f.pending) == 0 {
		f.pending = b
		return
	}
	f.pending = append(f.pending, b...)
}

// read waits for output, but not past the time at which pending output is due,
// nor past the time that this Follow has.
func (f *follower) read(ctx context.Context) (berth.Output, error) {
	now := f.runner.Clock.Now()
	wait := min(longestRead, f.remaining(now))
	if len(f.pending) > 0 {
		wait = min(wait, f.flushIn(now))
	}
	at := f.offset + int64(len(f.pending))
	out, err := f.provider.ReadOutput(ctx, f.ref, f.stage.Command, at, berth.MaxOutputRead-len(f.pending), max(wait, 0))
	if berth.CodeOf(err) == berth.CodeNotFound {
		exit := berth.Exit{Code: -1, Reason: berth.ExitLost, Message: "the sandbox no longer knows the command"}
		return berth.Output{Next: at, Ended: true, Exit: &exit}, nil
	}
	return out, berth.Wrap(err, "reading output of stage "+string(f.stage.ID))
}

// burst is how many records may follow each other at once.
const burst = 5

// flushIn is how long pending output may still wait for more.
func (f *follower) flushIn(now time.Time) time.Duration {
	if f.silent() {
		return longestRead
	}
	return f.paced.Add(-(burst - 1) * f.every()).Sub(now)
}

// pace counts one record.
func (f *follower) pace() {
	now := f.runner.Clock.Now()
	if f.paced.Before(now) {
		f.paced = now
	}
	if f.paced = f.paced.Add(f.every()); f.paced.After(now.Add(burst * f.every())) {
		f.paced = now.Add(burst * f.every())
	}
}

func (f *follower) every() time.Duration {
	if f.runner.FlushEvery == 0 {
		return defaultFlushEvery
	}
	return f.runner.FlushEvery
}

// silent reports whether all that is pending is the frame that every spool
// begins with: nobody waits for it.
func (f *follower) silent() bool {
	if f.offset > 0 || len(f.pending) > spool.MaxFrame {
		return false
	}
	frames, exit, err := spool.Decode(f.pending)
	return err == nil && exit == nil && len(frames) == 0
}

// remaining is how long this Follow stays attached.
func (f *follower) remaining(now time.Time) time.Duration {
	total := f.runner.FollowTotal
	if total == 0 {
		total = defaultFollowTotal
	}
	left := f.began.Add(total).Sub(now)
	if quiet := f.runner.FollowQuiet; quiet > 0 {
		left = min(left, f.heard.Add(quiet).Sub(now))
	}
	return left
}

// flush records what is pending; with an exit, the end of the stage in the same
// transaction. When another writer was faster it goes on from where that one is.
func (f *follower) flush(ctx context.Context, exit *berth.Exit) (ended bool, err error) {
	done, err := f.runner.Records.AppendOutput(ctx, f.run, f.stage.ID, f.offset, f.pending, func(c *records.Change, stage *berth.Stage) error {
		if exit == nil {
			return nil
		}
		return f.runner.closeStage(ctx, c, stage, *exit)
	})
	if err != nil {
		return false, err
	}
	if len(f.pending) > 0 {
		f.lag.record(f.runner.Clock.Now())
	}
	f.pending, f.offset = nil, done.Stage.Offset
	f.pace()
	f.cancelled = ending(done.Head)
	return done.Stage.Status.Ended(), nil
}

// look reads the record in a silence: for the mark of a cancel, and for the end
// of the stage by somebody else.
func (f *follower) look(ctx context.Context) (gone bool, err error) {
	head, live, err := f.runner.findLive(ctx, f.run)
	f.cancelled = ending(head)
	return !live, err
}

// cancel ends the command's process tree once the run is to end. What it still
// says, and its exit, are recorded as ever.
func (f *follower) cancel(ctx context.Context) error {
	if !f.cancelled || f.told {
		return nil
	}
	err := f.provider.Cancel(ctx, f.ref, f.stage.Command)
	if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return berth.Wrap(err, "cancelling stage "+string(f.stage.ID))
	}
	f.told = true
	return nil
}
