package records_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

func TestARunIsWrittenWithItsSandboxStagesAndFirstEvent(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	head := f.run()
	run, err := f.FindRun(t.Context(), head.ID)
	if err != nil || run.Status != berth.RunSubmitted || run.Sandbox != head.Sandbox || len(run.Stages) != 1 || run.Labels == nil || run.Warnings == nil {
		t.Errorf("FindRun() = %+v, %v", run, err)
	}
	sb, err := f.FindSandbox(t.Context(), head.Sandbox)
	if err != nil || sb.Run != head.ID || sb.Status != berth.SandboxCreating || !sb.CreatedAt.Equal(f.clock.Now()) {
		t.Errorf("FindSandbox() = %+v, %v", sb, err)
	}
	if events := f.events(head.ID); len(events) != 1 || events[0].Status != "submitted" {
		t.Errorf("events = %+v", events)
	}
	live, err := f.ListLiveRuns(t.Context())
	if diff := cmp.Diff([]berth.RunID{head.ID}, live); err != nil || diff != "" {
		t.Errorf("live runs (-want +got):\n%s %v", diff, err)
	}
	_, err = f.CreateRun(t.Context(), records.Head{ID: head.ID}, definition(), nil, berth.Sandbox{ID: "other"})
	wantCode(t, "CreateRun again", err, berth.CodeConflict)
	_, err = f.FindSandbox(t.Context(), "other")
	wantCode(t, "the sandbox of a refused run", err, berth.CodeNotFound)
}

func TestARunOfTheMostStagesIsWrittenAndEndedInOneTransactionEach(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	var stages []berth.Stage
	for i := range records.MaxStages {
		stages = append(stages, berth.Stage{ID: berth.StageID(fmt.Sprintf("%02d-prepare", i+1)), Status: berth.StagePending})
	}
	head, err := f.CreateRun(t.Context(), records.Head{ID: berth.RunID(f.IDs.NewID())}, definition(), stages, berth.Sandbox{ID: "sandbox"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.ChangeRun(t.Context(), head.ID, func(c *records.Change) error {
		for _, s := range stages {
			stage, err := c.Stage(t.Context(), s.ID)
			if err != nil {
				return err
			}
			stage.Status = berth.StageSkipped
		}
		sb, err := c.Sandbox(t.Context())
		if err != nil {
			return err
		}
		c.SetSandboxStatus(sb, berth.SandboxDestroyed, nil)
		c.SetStatus(berth.RunCancelled)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.CreateRun(t.Context(), records.Head{ID: "x"}, definition(), append(stages, berth.Stage{ID: "one-more"}), berth.Sandbox{ID: "y"})
	wantCode(t, "CreateRun with one stage more", err, berth.CodeInvalid)
}

func TestAnEndedRunNeverChanges(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.run().ID
	before := f.moved(id, berth.RunProvisioning, berth.RunRunning, berth.RunSucceeded)
	for name, change := range map[string]func(*records.Change) error{
		"a status":   func(c *records.Change) error { c.SetStatus(berth.RunFailed); return nil },
		"an event":   func(c *records.Change) error { c.Event(berth.Event{Kind: berth.EventNotice}); return nil },
		"a mark":     func(c *records.Change) error { c.Head.CancelRequested = true; return nil },
		"no change":  func(*records.Change) error { return nil },
		"its result": func(c *records.Change) error { c.Head.Reason = &berth.Reason{Code: "x"}; return nil },
	} {
		_, err := f.ChangeRun(t.Context(), id, change)
		wantCode(t, "writing "+name, err, berth.CodeConflict)
	}
	if _, err := f.ChangeRun(t.Context(), id, func(*records.Change) error { return records.ErrUnchanged }); err != nil {
		t.Errorf("looking at an ended run = %v", err)
	}
	after, err := f.FindHead(t.Context(), id)
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("the head (-before +after):\n%s %v", diff, err)
	}
	if live, err := f.HasLiveRuns(t.Context()); err != nil || live {
		t.Errorf("HasLiveRuns() = %v, %v", live, err)
	}
}

func TestStatusesMoveOnlyAsTheyMay(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.run().ID
	_, err := f.ChangeRun(t.Context(), id, func(c *records.Change) error { c.SetStatus(berth.RunSucceeded); return nil })
	wantCode(t, "from submitted to succeeded", err, berth.CodeInternal)
	if events := f.events(id); len(events) != 1 {
		t.Errorf("%d events after a refused move", len(events))
	}
}

func TestAChangeThatFailsWritesNothing(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.run().ID
	boom := errors.New("boom")
	_, err := f.ChangeRun(t.Context(), id, func(c *records.Change) error {
		c.SetStatus(berth.RunProvisioning)
		return boom
	})
	if !errors.Is(err, boom) {
		t.Errorf("ChangeRun() = %v", err)
	}
	if head, err := f.FindHead(t.Context(), id); err != nil || head.Status != berth.RunSubmitted || head.Events != 1 {
		t.Errorf("FindHead() = %+v, %v", head, err)
	}
	_, err = f.ChangeRun(t.Context(), "nobody", func(*records.Change) error { return nil })
	wantCode(t, "ChangeRun of nothing", err, berth.CodeNotFound)
	_, err = f.ChangeRun(t.Context(), id, func(c *records.Change) error { _, err := c.Stage(t.Context(), "99-none"); return err })
	wantCode(t, "a stage that is not there", err, berth.CodeNotFound)
}

func TestManyWritersAtOnceLeaveEventsWithoutAGap(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.run().ID
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, err := f.ChangeRun(t.Context(), id, func(c *records.Change) error {
					c.Event(berth.Event{Kind: berth.EventNotice, Message: fmt.Sprint(w, "-", i)})
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, e := range f.events(id) {
		if e.Kind == berth.EventNotice && seen[e.Message] {
			t.Errorf("%s is there twice", e.Message)
		}
		seen[e.Message] = true
	}
	if len(seen) != writers*each+1 {
		t.Errorf("%d events of %d are there", len(seen)-1, writers*each)
	}
}

// TestRandomChangesKeepTheHistoryWhole interleaves two writers: one reads, the
// other writes in between, the first writes.
func TestRandomChangesKeepTheHistoryWhole(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	statuses := []berth.RunStatus{
		berth.RunQueued, berth.RunProvisioning, berth.RunRunning, berth.RunBlocked, berth.RunSucceeded, berth.RunFailed, berth.RunCancelled,
	}
	rapid.Check(t, func(r *rapid.T) {
		id := f.run().ID
		steps := rapid.IntRange(1, 12).Draw(r, "steps")
		var ended *records.Head
		for range steps {
			status := rapid.SampledFrom(statuses).Draw(r, "status")
			notices := rapid.IntRange(0, 3).Draw(r, "notices")
			interrupted := rapid.Bool().Draw(r, "interrupted")
			head, err := f.ChangeRun(t.Context(), id, func(c *records.Change) error {
				if interrupted {
					interrupted = false
					// An ended run refuses this one too.
					_, _ = f.ChangeRun(t.Context(), id, func(c *records.Change) error {
						c.Event(berth.Event{Kind: berth.EventNotice, Message: "between"})
						return nil
					})
				}
				for range notices {
					c.Event(berth.Event{Kind: berth.EventNotice})
				}
				c.SetStatus(status)
				return nil
			})
			if err != nil && berth.CodeOf(err) != berth.CodeConflict && berth.CodeOf(err) != berth.CodeInternal {
				r.Fatal(err)
			}
			if err == nil && ended != nil {
				r.Fatalf("a run that was %s became %s", ended.Status, head.Status)
			}
			if err == nil && head.Status.Ended() {
				ended = &head
			}
		}
		head, err := f.FindHead(t.Context(), id)
		if err != nil {
			r.Fatal(err)
		}
		if events := f.events(id); int64(len(events)) != head.Events {
			r.Fatalf("%d events, the head tells of %d", len(events), head.Events)
		}
		if ended != nil && head.Status != ended.Status {
			r.Fatalf("the run ended %s and is %s", ended.Status, head.Status)
		}
	})
}

func TestAChangeWakesWhoWatchesTheRun(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.run().ID
	w := f.hub.Watch(records.RunTopic(id))
	defer w.Close()
	f.moved(id, berth.RunQueued)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if w.Wait(ctx); ctx.Err() != nil {
		t.Error("nobody was woken")
	}
}

func TestADeletedRunIsGoneWithAllThatBelongsToIt(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	id := f.run().ID
	wantCode(t, "DeleteRun of a live run", f.DeleteRun(t.Context(), id), berth.CodeConflict)
	f.moved(id, berth.RunProvisioning, berth.RunRunning)
	if _, err := f.AppendOutput(t.Context(), id, stageID, 0, make([]byte, 10_000), nil); err != nil {
		t.Fatal(err)
	}
	f.moved(id, berth.RunSucceeded)
	if f.blobs.Len() != 1 {
		t.Fatalf("%d blobs", f.blobs.Len())
	}
	if err := f.DeleteRun(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err := f.FindRun(t.Context(), id)
	wantCode(t, "FindRun", err, berth.CodeNotFound)
	if events := f.events(id); len(events) != 0 || f.blobs.Len() != 0 {
		t.Errorf("%d events and %d blobs are left", len(events), f.blobs.Len())
	}
	wantCode(t, "DeleteRun again", f.DeleteRun(t.Context(), id), berth.CodeNotFound)
}

func TestRunsAreListedNewestFirstOverMonths(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	if _, err := f.OpenInstallation(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want []berth.RunID
	for range 7 {
		want = append([]berth.RunID{f.run().ID}, want...)
		f.clock.Advance(10 * day)
	}
	for limit := 1; limit <= 8; limit++ {
		var got []berth.RunID
		for cursor, pages := "", 0; pages < 20; pages++ {
			page, next, err := f.ListRuns(t.Context(), limit, cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				got = append(got, r.ID)
			}
			if cursor = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with limit %d (-want +got):\n%s", limit, diff)
		}
	}
	_, _, err := f.ListRuns(t.Context(), 1, "not-a-cursor")
	wantCode(t, "ListRuns with nonsense", err, berth.CodeMalformed)
}

func TestARunWhoseIDIsOfTheMonthBeforeIsFoundAndListed(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	if _, err := f.OpenInstallation(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := berth.RunID(f.IDs.NewID())
	f.clock.Advance(31 * day)
	_, err := f.CreateRun(t.Context(), records.Head{ID: id, CreatedBy: "test"}, definition(), nil, berth.Sandbox{ID: berth.SandboxID(f.IDs.NewID())})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.ResolveRun(t.Context(), string(id)[:12]); err != nil || got != id {
		t.Errorf("ResolveRun() = %s, %v, want %s", got, err, id)
	}
	if runs, _, err := f.ListRuns(t.Context(), 10, ""); err != nil || len(runs) != 1 || runs[0].ID != id {
		t.Errorf("ListRuns() = %v, %v, want %s", runs, err, id)
	}
}

func TestAPrefixNamesARunWhenNoOtherBeginsSo(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	one, two := f.run().ID, f.run().ID // of the same millisecond
	f.clock.Advance(40 * day)
	late := f.run().ID
	for _, c := range []struct {
		prefix string
		want   berth.RunID
		code   berth.Code
	}{
		{string(one), one, ""},
		{strings.ToUpper(string(late)), late, ""},
		{string(late)[:8], late, ""},
		{string(one)[:10], "", berth.CodeConflict},
		{"7zzzzzzz", "", berth.CodeNotFound},
		{string(one)[:5], "", berth.CodeInvalid},
		{"../../etc", "", berth.CodeInvalid},
	} {
		got, err := f.ResolveRun(t.Context(), c.prefix)
		if wantCode(t, "ResolveRun("+c.prefix+")", err, c.code); got != c.want {
			t.Errorf("ResolveRun(%s) = %s, want %s", c.prefix, got, c.want)
		}
		if c.code == berth.CodeConflict && (!strings.Contains(err.Error(), string(one)) || !strings.Contains(err.Error(), string(two))) {
			t.Errorf("the conflict does not name the candidates: %v", err)
		}
	}
}

func TestASummaryIsOneLineCutOnARunesEdge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		argv   []string
		script string
		want   string
	}{
		{argv: []string{"go", "test", "./..."}, want: "go test ./..."},
		{argv: []string{"sh", "-c", "exit 7"}, want: "sh -c 'exit 7'"},
		{script: "a\n\tb   c\n", want: "a b c"},
		{script: "\xff", want: "\uFFFD"},
		{script: strings.Repeat("é", 100), want: strings.Repeat("é", 58) + "…"},
	} {
		if got := records.Summarize(c.argv, c.script); got != c.want || len(got) > 120 {
			t.Errorf("Summarize(%q, %q) = %q", c.argv, c.script, got)
		}
	}
}
