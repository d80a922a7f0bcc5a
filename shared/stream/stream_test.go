package stream

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestANoticeBetweenWatchAndWaitIsNotLost(t *testing.T) {
	t.Parallel()
	var hub Hub
	w := hub.Watch("run/a")
	defer w.Close()
	hub.Notify("run/a")
	hub.Notify("run/a")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	w.Wait(ctx)
	if ctx.Err() != nil {
		t.Fatal("Wait did not return for a notice that came before it")
	}
}

func TestANoticeWakesEveryWatchOfItsTopicAndNoOther(t *testing.T) {
	t.Parallel()
	var hub Hub
	one, two, other := hub.Watch("run/a"), hub.Watch("run/a"), hub.Watch("run/b")
	defer one.Close()
	defer two.Close()
	defer other.Close()
	hub.Notify("run/a")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	one.Wait(ctx)
	two.Wait(ctx)
	if ctx.Err() != nil {
		t.Fatal("a watch of the topic was not woken")
	}
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	other.Wait(short)
	if short.Err() == nil {
		t.Error("a watch of another topic was woken")
	}
}

func TestClosedWatchesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	var hub Hub
	for range 100 {
		w := hub.Watch("run/a")
		w.Close()
		w.Close()
	}
	hub.Notify("run/a")
	if n := len(hub.watches); n != 0 {
		t.Errorf("%d topics are kept after every watch was closed", n)
	}
}

type recordingClock struct{ slept []time.Duration }

func (c *recordingClock) Now() time.Time { return time.Time{} }

func (c *recordingClock) Sleep(_ context.Context, d time.Duration) error {
	c.slept = append(c.slept, d)
	return nil
}

func TestPollingSlowsDownToOnceASecond(t *testing.T) {
	t.Parallel()
	clock := &recordingClock{}
	w := Poll{clock}.Watch("run/a")
	defer w.Close()
	for range 7 {
		w.Wait(t.Context())
	}
	ms := time.Millisecond
	want := []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1000 * ms, 1000 * ms}
	if diff := cmp.Diff(want, clock.slept); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}
