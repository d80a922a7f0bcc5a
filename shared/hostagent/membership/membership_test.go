package membership_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/membership"
)

// plane is a control plane that answers as a test wants.
type plane struct {
	mu     sync.Mutex // guards what follows
	beats  []berth.Heartbeat
	nudges []berth.Nudge
	beat   func(n int) error
	nudge  func(n int) error
	told   chan struct{} // one for every nudge
}

func (p *plane) BeatHost(_ context.Context, id berth.HostID, beat berth.Heartbeat) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != "h" {
		return fmt.Errorf("host %s", id)
	}
	p.beats = append(p.beats, beat)
	return p.beat(len(p.beats))
}

func (p *plane) NudgeHost(_ context.Context, id berth.HostID, nudge berth.Nudge) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nudges = append(p.nudges, nudge)
	n := len(p.nudges)
	if p.told != nil {
		p.told <- struct{}{}
	}
	if p.nudge == nil {
		return nil
	}
	return p.nudge(n)
}

// recorder is a clock that does not wait; it ends a run after some sleeps.
type recorder struct {
	mu    sync.Mutex // guards what follows
	slept []time.Duration
	most  int
	stop  context.CancelFunc
}

func (r *recorder) Now() time.Time { return time.Unix(1e9, 0) }

func (r *recorder) Sleep(ctx context.Context, d time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slept = append(r.slept, d)
	if len(r.slept) == r.most {
		r.stop()
	}
	return ctx.Err()
}

// within reports whether d is what is left of want by jitter.
func within(d, low, high time.Duration) bool { return d >= low && d <= high }

// run sends so many heartbeats and returns the pauses behind them.
func run(t *testing.T, p *plane, beats int, log *bytes.Buffer) []time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	clock := &recorder{most: beats, stop: cancel}
	cpu := 0
	h := &membership.Heart{
		Plane: p, Host: "h", Clock: clock, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Beat: func() (berth.Heartbeat, error) {
			cpu++
			return berth.Heartbeat{HostCapacity: berth.HostCapacity{CPU: cpu}, Version: "1.2.3"}, nil
		},
	}
	h.Run(ctx)
	return clock.slept
}

func TestHeartbeatsAreHalfAMinuteApartAndLookAtTheHostAnew(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := &plane{beat: func(int) error { return nil }}
	pauses := run(t, p, 50, &log)
	different := map[time.Duration]bool{}
	for _, d := range pauses {
		if !within(d, 27*time.Second, 33*time.Second) {
			t.Errorf("a pause of %s", d)
		}
		different[d] = true
	}
	if len(different) < 10 {
		t.Errorf("hosts that began together stay together: %d pauses", len(different))
	}
	if len(p.beats) != 50 || p.beats[49].CPU != 50 || p.beats[0].Version != "1.2.3" {
		t.Errorf("%d heartbeats", len(p.beats))
	}
	if n := strings.Count(log.String(), "hears the heartbeats"); n != 1 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("the log has\n%s", &log)
	}
}

func TestAHeartbeatThatDoesNotArriveIsRepeatedSoonerAndThenLessOften(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	p := &plane{beat: func(n int) error {
		if n > 2 && n < 12 {
			return berth.Errorf(berth.CodeUnavailable, "the server at x cannot be reached")
		}
		return nil
	}}
	pauses := run(t, p, 14, &log)
	want := []time.Duration{2, 4, 8, 16, 30, 30, 30, 30, 30}
	for i, seconds := range want {
		if d := pauses[2+i]; !within(d, seconds*time.Second/2, seconds*time.Second) {
			t.Errorf("after failure %d: %s, want half to the whole of %d s", i+1, d, seconds)
		}
	}
	if d := pauses[12]; !within(d, 27*time.Second, 33*time.Second) {
		t.Errorf("after it arrives again: %s", d)
	}
	if strings.Count(log.String(), "do not arrive") != 1 || strings.Count(log.String(), "hears the heartbeats") != 2 {
		t.Errorf("the log has\n%s", &log)
	}
}

func TestAKeyThatWasRevokedIsSaidOnceAndTriedLessOften(t *testing.T) {
	t.Parallel()
	for code, text := range map[berth.Code]string{
		berth.CodeUnauthenticated: "does not take this host's key any more",
		berth.CodeForbidden:       "does not take this host's key any more",
		berth.CodeNotFound:        "does not know this host any more",
	} {
		var log bytes.Buffer
		p := &plane{beat: func(int) error { return berth.Errorf(code, "the key is not known") }}
		for _, d := range run(t, p, 5, &log) {
			if d < time.Minute {
				t.Errorf("%s: a pause of %s", code, d)
			}
		}
		if strings.Count(log.String(), text) != 1 || !strings.Contains(log.String(), "berth-agent leave") {
			t.Errorf("%s: the log has\n%s", code, &log)
		}
	}
}

func TestWhoIsToHearOfARefusalDoesSoOnceAndOfNothingElse(t *testing.T) {
	t.Parallel()
	for code, want := range map[berth.Code]int{
		"": 0, berth.CodeUnavailable: 0, berth.CodeInvalid: 0, berth.CodeUnauthenticated: 1, berth.CodeForbidden: 1, berth.CodeNotFound: 1,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		told := 0
		h := &membership.Heart{
			Plane: &plane{beat: func(int) error {
				if code == "" {
					return nil
				}
				return berth.Errorf(code, "no")
			}},
			Host: "h", Clock: &recorder{most: 4, stop: cancel}, Logger: slog.New(slog.DiscardHandler), Refused: func() { told++ },
			Beat: func() (berth.Heartbeat, error) { return berth.Heartbeat{}, nil },
		}
		h.Run(ctx)
		cancel()
		if told != want {
			t.Errorf("%q: told %d times, want %d", code, told, want)
		}
	}
}

func TestARecordKeepsHowBrowsersAreServed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.json")
	for _, public := range []membership.Public{{}, {URL: "https://*.host.example.com", Listen: ":443", Cert: "/c", Key: "/k"}} {
		r := membership.Record{Server: "https://s", Installation: "i", Host: "h", Key: berth.NewSecretValue([]byte("k")), Public: public}
		if err := r.Write(path); err != nil {
			t.Fatal(err)
		}
		got, joined, err := membership.Read(path)
		if err != nil || !joined || got.Public != public {
			t.Errorf("Read = %+v, %v, %v; want %+v", got.Public, joined, err, public)
		}
	}
}

func newNudges(t *testing.T, p *plane, log *bytes.Buffer) (n *membership.Nudges, clock *recorder, start func()) {
	clock = &recorder{}
	n = membership.NewNudges(p, "h", clock, slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	started := false
	stop := func() {
		cancel()
		if started {
			<-done
		}
	}
	t.Cleanup(stop)
	return n, clock, func() {
		started = true
		go func() {
			defer close(done)
			n.Run(ctx)
		}()
	}
}

func nudge(n int) berth.Nudge {
	return berth.Nudge{Sandbox: "s", Command: berth.CommandID(fmt.Sprintf("c%d", n))}
}

// arrive waits for so many nudges.
func (p *plane) arrive(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-p.told:
		case <-time.After(30 * time.Second):
			t.Fatal("a nudge has not arrived")
		}
	}
}

func TestANudgeIsTriedAFewTimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fails int
		code  berth.Code
		tries int
	}{
		{"when the second arrives", 1, berth.CodeUnavailable, 2},
		{"when none arrives", 100, berth.CodeUnavailable, 4},
		{"when the server answers with a fault", 100, berth.CodeInternal, 4},
		{"when it is refused", 100, berth.CodeUnauthenticated, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &plane{told: make(chan struct{}, 100)}
			p.nudge = func(n int) error {
				if n <= tt.fails && n <= tt.tries {
					return berth.Errorf(tt.code, "no")
				}
				return nil
			}
			var log bytes.Buffer
			n, clock, start := newNudges(t, p, &log)
			start()
			n.Send(nudge(1))
			p.arrive(t, tt.tries)
			n.Send(nudge(2)) // the next is tried on its own
			p.arrive(t, 1)
			p.mu.Lock()
			defer p.mu.Unlock()
			clock.mu.Lock()
			defer clock.mu.Unlock()
			if len(p.nudges) != tt.tries+1 || p.nudges[tt.tries] != nudge(2) {
				t.Errorf("%v was sent", p.nudges)
			}
			for i, d := range clock.slept {
				if base := 250 * time.Millisecond << (2 * i); !within(d, base/2, base*3/2) {
					t.Errorf("pause %d is %s", i, d)
				}
			}
		})
	}
}

func TestANudgeThatWaitsIsNotQueuedTwiceAndTheQueueHasAnEnd(t *testing.T) {
	t.Parallel()
	p := &plane{told: make(chan struct{}, 3000)}
	var log bytes.Buffer
	n, _, start := newNudges(t, p, &log)
	for i := range 1500 {
		for range 2 {
			n.Send(nudge(i))
		}
	}
	if strings.Count(log.String(), "nudges are lost") != 1 {
		t.Errorf("the log has\n%s", &log)
	}
	start()
	p.arrive(t, 1024)
	n.Send(nudge(7)) // one that was sent may be sent again
	p.arrive(t, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.nudges) != 1025 || p.nudges[1024] != nudge(7) {
		t.Errorf("%d nudges were sent, the last for %v", len(p.nudges), p.nudges[len(p.nudges)-1])
	}
}

func TestARecordIsReadAsItWasWrittenAndIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "host.json")
	if _, joined, err := membership.Read(path); joined || err != nil {
		t.Fatalf("Read of nothing = %v, %v", joined, err)
	}
	want := membership.Record{
		Server: "https://x/prod", Installation: "i", Host: "h", Key: berth.NewSecretValue([]byte("bth_key")), Address: "https://10.0.0.7:7443",
		Listen: ":7443", JoinedAt: time.Unix(1e9, 0).UTC(),
	}
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, joined, err := membership.Read(path)
	same := cmp.Comparer(func(a, b berth.SecretValue) bool { return bytes.Equal(a.Reveal(), b.Reveal()) })
	if diff := cmp.Diff(want, got, same); diff != "" || !joined || err != nil {
		t.Errorf("%v, %v (-want +got)\n%s", joined, err, diff)
	}
	if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "bth_key") {
		t.Errorf("the key shows: %s", text)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for name, spoil := range map[string]func() error{
		"others may read":   func() error { return os.Chmod(path, 0o644) },
		"no record":         func() error { return os.WriteFile(path, []byte(`{"server":""}`), 0o600) },
		"berth-agent leave": func() error { return os.WriteFile(path, []byte(`{"key":5`), 0o600) },
		"newer": func() error {
			return os.WriteFile(path, []byte(`{"schema":9,"server":"s","installation":"i","host":"h","key":"k"}`), 0o600)
		},
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		_, joined, err := membership.Read(path)
		text := fmt.Sprint(err)
		if e, ok := err.(*berth.Error); ok {
			text += e.Remediation
		}
		if joined || err == nil || !strings.Contains(text, name) || strings.Contains(text, "bth_key") {
			t.Errorf("%s: %v, %v", name, joined, err)
		}
	}
	for _, want := range []bool{true, false} {
		if found, err := membership.Forget(path); found != want || err != nil {
			t.Errorf("Forget = %v, %v", found, err)
		}
	}
}
