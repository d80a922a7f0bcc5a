package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/metric"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/runner/asl"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// samples keeps what was measured.
type samples struct {
	mu  sync.Mutex // guards all
	all []metric.Sample
}

func (s *samples) Write(_ context.Context, m metric.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, m)
}

// of returns the samples of a metric.
func (s *samples) of(name string) (out []metric.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.all {
		if m.Name == name {
			out = append(out, m)
		}
	}
	return out
}

// measured is a bench whose tasks are all delivered twice.
func measured(t *testing.T, clock berth.Clock) (*bench, *samples) {
	kept := &samples{}
	return newBench(t, clock, func(r *runner.Runner, tasks map[string]asl.Task) {
		r.Metrics = metric.New(kept)
		for name, task := range tasks {
			tasks[name] = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
				if _, err := task(ctx, input); err != nil {
					return nil, err
				}
				return task(ctx, input)
			}
		}
	}), kept
}

func ends(of ...berth.RunStatus) (out []metric.Sample) {
	for _, status := range of {
		out = append(out, metric.Sample{Name: metric.RunsEnded, Unit: metric.Count, Value: 1, By: metric.Status, Of: string(status)})
	}
	return out
}

func TestARunIsMeasuredOnceThoughItsTasksComeTwice(t *testing.T) {
	t.Parallel()
	b, kept := measured(t, berth.SystemClock{})
	b.ended(b.create(definition("echo", "hello")))
	if diff := cmp.Diff(ends(berth.RunSucceeded), kept.of(metric.RunsEnded)); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
	for _, name := range []string{metric.ProvisionSeconds, metric.FollowLagSeconds} {
		got := kept.of(name)
		if len(got) != 1 || got[0].Unit != metric.Seconds || got[0].Value < 0 || got[0].Value > patience.Seconds() {
			t.Errorf("%s = %+v, want one number of seconds", name, got)
		}
	}
}

func TestEveryWayToEndIsCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(*bench)
		want berth.RunStatus
	}{
		"by its command": {func(b *bench) { b.ended(b.create(definition("exit", "3"))) }, berth.RunFailed},
		"by a cancel while it runs": {func(b *bench) {
			id := b.create(definition("sleep"))
			b.until(id, "running", func(h records.Head) bool { return h.Stage != "" })
			if err := b.runner.Cancel(b.t.Context(), id); err != nil {
				b.t.Fatal(err)
			}
			b.ended(id)
		}, berth.RunCancelled},
		"by a cancel before it is admitted": {func(b *bench) {
			if err := b.runner.Cancel(b.t.Context(), b.record(definition("true"))); err != nil {
				b.t.Fatal(err)
			}
		}, berth.RunCancelled},
		"for it could not be started": {func(b *bench) {
			id := b.record(definition("true"))
			for range 2 { // the second finds it ended
				if err := b.runner.Abandon(b.t.Context(), id, errors.New("no machine")); err != nil {
					b.t.Fatal(err)
				}
			}
		}, berth.RunFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, kept := measured(t, berth.SystemClock{})
			c.end(b)
			if diff := cmp.Diff(ends(c.want), kept.of(metric.RunsEnded)); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTimeThatASandboxTookLeavesOutTheWaitForRoom(t *testing.T) {
	t.Parallel()
	clock := runnertest.NewManualClock()
	b, kept := measured(t, clock)
	id := b.record(definition("true"))
	s := runner.State{Run: id}
	clock.Advance(time.Hour) // it was queued
	if _, err := b.runner.Admit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	clock.Advance(7 * time.Second)
	if _, err := b.runner.Provision(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want := []metric.Sample{{Name: metric.ProvisionSeconds, Unit: metric.Seconds, Value: 7}}
	if diff := cmp.Diff(want, kept.of(metric.ProvisionSeconds)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// laggard is a table that takes its time for each write.
type laggard struct {
	berth.Table
	clock *runnertest.ManualClock
	takes time.Duration
}

func (l laggard) Transact(ctx context.Context, writes []berth.Write) error {
	l.clock.Advance(l.takes)
	return l.Table.Transact(ctx, writes)
}

func TestTheLagIsTheTimeFromTheReadToTheRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argv []string
		want float64 // seconds
	}{
		"a line waits for one write":                      {[]string{"echo", "x"}, 3},
		"of three reads the last waits for those before":  {[]string{"bytes", "2900000"}, 9},
		"and of two the second, though it brings the end": {[]string{"bytes", "1500000"}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := runnertest.NewManualClock()
			b := newBench(t, clock)
			id := b.record(definition(c.argv...))
			s := runner.State{Run: id, Stage: commandStage}
			for _, task := range []func(context.Context, runner.State) (runner.State, error){b.runner.Admit, b.runner.Provision, b.runner.Start} {
				if _, err := task(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			head, err := b.records.FindHead(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			ref := berth.SandboxRef{ID: head.Sandbox}
			for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // all is said before it is read
				state, err := b.provider.DescribeCommand(t.Context(), ref, "stage-01-command")
				if err == nil && state.Exit != nil {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the command has not ended: %v", err)
				}
			}
			kept := &samples{}
			b.runner.Metrics = metric.New(kept)
			b.records.Table = laggard{b.table, clock, 3 * time.Second}
			if next, err := b.runner.Follow(t.Context(), s); err != nil || next.Next != runner.NextAdvance {
				t.Fatalf("Follow() = %+v, %v", next, err)
			}
			want := []metric.Sample{{Name: metric.FollowLagSeconds, Unit: metric.Seconds, Value: c.want}}
			if diff := cmp.Diff(want, kept.of(metric.FollowLagSeconds)); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}
