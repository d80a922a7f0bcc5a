package embedded

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// stepClock goes forward only when somebody sleeps.
type stepClock struct {
	now    time.Time
	sleeps int
	most   int
}

func (c *stepClock) Now() time.Time { return c.now }

func (c *stepClock) Sleep(ctx context.Context, d time.Duration) error {
	if c.sleeps++; c.sleeps > c.most {
		return errors.New("slept too often")
	}
	c.now = c.now.Add(d)
	return ctx.Err()
}

func TestAServerWithoutWorkEndsAfterTheLimit(t *testing.T) {
	clock := &stepClock{now: time.Unix(1000, 0), most: 3}
	begin := clock.now
	w := newIdleWatch(clock, time.Minute, func(context.Context) (bool, error) { return false, nil })
	if err := w.wait(t.Context()); err != nil {
		t.Fatalf("wait: %v", err)
	}
	if got := clock.now.Sub(begin); got != time.Minute {
		t.Errorf("it ended after %s, want 1m", got)
	}
}

func TestALiveRunKeepsAServerUp(t *testing.T) {
	clock := &stepClock{now: time.Unix(1000, 0), most: 20}
	begin, looks := clock.now, 0
	w := newIdleWatch(clock, time.Minute, func(context.Context) (bool, error) {
		looks++
		return looks <= 5, nil
	})
	if err := w.wait(t.Context()); err != nil {
		t.Fatalf("wait: %v", err)
	}
	if got := clock.now.Sub(begin); got < 5*time.Minute || got > 6*time.Minute {
		t.Errorf("it ended after %s, want the limit after the last look that found a run", got)
	}
}

func TestARequestInProgressKeepsAServerUp(t *testing.T) {
	clock := &stepClock{now: time.Unix(1000, 0), most: 3}
	w := newIdleWatch(clock, time.Minute, func(context.Context) (bool, error) { return false, nil })
	h := w.count(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if err := w.wait(t.Context()); err == nil {
			t.Error("the server ended within a request")
		}
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
}

func TestNotKnowingIsNotBeingIdle(t *testing.T) {
	clock := &stepClock{now: time.Unix(1000, 0), most: 4}
	w := newIdleWatch(clock, time.Minute, func(context.Context) (bool, error) { return false, errors.New("table is locked") })
	if err := w.wait(t.Context()); err == nil {
		t.Error("the server ended though it could not look for live runs")
	}
}

func TestAHealthCheckDoesNotKeepAServerUp(t *testing.T) {
	clock := &stepClock{now: time.Unix(1000, 0), most: 3}
	w := newIdleWatch(clock, time.Minute, func(context.Context) (bool, error) { return false, nil })
	clock.now = clock.now.Add(59 * time.Second)
	h := w.count(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, healthPath, nil))
	if left, err := w.left(t.Context()); err != nil || left != time.Second {
		t.Errorf("left = %s, %v, want 1s", left, err)
	}
}
