//go:build linux

package daytona_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/spool"
)

// result is what became of a command.
type result struct {
	stdout, stderr string
	exit           berth.Exit
}

// runCommand starts one and reads it to its end.
func runCommand(t testing.TB, p *daytona.Provider, ref berth.SandboxRef, spec berth.CommandSpec) result {
	t.Helper()
	if err := p.StartCommand(t.Context(), ref, spec); err != nil {
		t.Fatalf("StartCommand: %v", err)
	}
	return readCommand(t, p, ref, spec.ID)
}

func readCommand(t testing.TB, p *daytona.Provider, ref berth.SandboxRef, id berth.CommandID) result {
	t.Helper()
	var r result
	deadline := time.Now().Add(time.Minute)
	for offset := int64(0); time.Now().Before(deadline); {
		out, err := p.ReadOutput(t.Context(), ref, id, offset, 0, time.Second)
		if err != nil {
			t.Fatalf("ReadOutput: %v", err)
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			if f.Stream == berth.Stdout {
				r.stdout += string(f.Data)
			} else {
				r.stderr += string(f.Data)
			}
		}
		if offset = out.Next; out.Ended {
			r.exit = *out.Exit
			return r
		}
	}
	t.Fatalf("command %s has not ended: %+v", id, r)
	return r
}

func TestAnExecTimeoutComesInTimeAndEndsTheTree(t *testing.T) { // daytonaio/daytona #2602
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	began := time.Now()
	got := runCommand(t, p, ref(state), berth.CommandSpec{ID: "c", Script: "sleep 600.25 & sleep 600.25", Timeout: time.Second})
	if got.exit.Reason != berth.ExitTimedOut || time.Since(began) > 30*time.Second {
		t.Errorf("%+v after %v", got.exit, time.Since(began))
	}
	if left := sandboxtest.Processes("sleep\x00600.25"); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestASilentCommandOutlivesEveryLimitOfARequest(t *testing.T) { // daytonaio/daytona #4750
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Patience, c.Pace.Relay = 500*time.Millisecond, 500*time.Millisecond
	p := open(t, c)
	state := ready(t, p, spec(t))
	before := s.Count(http.MethodPost, "/process/session")
	got := runCommand(t, p, ref(state), berth.CommandSpec{ID: "c", Script: "sleep 2.5; echo done"})
	if got.stdout != "done\n" || got.exit.Code != 0 {
		t.Errorf("%+v", got)
	}
	if n := s.Count(http.MethodPost, "/process/session"); n != before {
		t.Errorf("the connection was made anew %d times", n-before)
	}
}

func TestASessionInWhichNothingRunsIsReplaced(t *testing.T) { // daytonaio/daytona #4520
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Dial = 2 * time.Second
	p := open(t, c)
	state := ready(t, p, spec(t))
	p.Close()
	s.Idle(2)
	if got := runCommand(t, open(t, c), ref(state), berth.CommandSpec{ID: "c", Script: "echo x; exit 3"}); got.stdout != "x\n" || got.exit.Code != 3 {
		t.Errorf("%+v", got)
	}
}

func TestAToolboxThatIsNotThereYetIsWaitedFor(t *testing.T) { // daytonaio/daytona #4142, #3425
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{StartTime: 30 * time.Millisecond, ToolboxDelay: 500 * time.Millisecond})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	if got := runCommand(t, p, ref(state), berth.CommandSpec{ID: "c", Script: "echo x"}); got.stdout != "x\n" {
		t.Errorf("%+v", got)
	}
}

func TestASandboxWhoseToolboxDiedIsLostAfterAWhile(t *testing.T) { // daytonaio/daytona #5140
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Relay, c.Pace.Patience, c.Pace.Silence = 300*time.Millisecond, 200*time.Millisecond, time.Second
	p := open(t, c)
	state := ready(t, p, spec(t))
	if err := p.StartCommand(t.Context(), ref(state), berth.CommandSpec{ID: "c", Script: "echo x; sleep 600.5"}); err != nil {
		t.Fatal(err)
	}
	s.SetFault(func(r *http.Request) daytonatest.Fault {
		if strings.HasPrefix(r.URL.Path, "/toolbox/") {
			return daytonatest.EmptyGateway
		}
		return daytonatest.None
	})
	s.CutStreams()
	for deadline := time.Now().Add(30 * time.Second); ; {
		out, err := p.ReadOutput(t.Context(), ref(state), "c", 0, 0, 100*time.Millisecond)
		if err == nil && out.Ended {
			if out.Exit.Reason != berth.ExitLost {
				t.Errorf("exit %+v", out.Exit)
			}
			break
		}
		if err != nil && berth.CodeOf(err) != berth.CodeUnavailable || time.Now().After(deadline) {
			t.Fatalf("ReadOutput = %+v, %v", out, err)
		}
	}
}

// What is out of reach as a whole says nothing of one sandbox.
func TestNothingIsLostWhileDaytonaItselfIsOutOfReach(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	c.Pace.Relay, c.Pace.Patience, c.Pace.Silence = 100*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond
	p := open(t, c)
	state := ready(t, p, spec(t))
	if err := p.StartCommand(t.Context(), ref(state), berth.CommandSpec{ID: "c", Script: "echo x; exit 3"}); err != nil {
		t.Fatal(err)
	}
	s.SetFault(func(*http.Request) daytonatest.Fault { return daytonatest.EmptyGateway })
	s.CutStreams()
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		out, err := p.ReadOutput(t.Context(), ref(state), "c", 0, 0, 10*time.Millisecond)
		if out.Ended || berth.CodeOf(err) != berth.CodeUnavailable {
			t.Fatalf("ReadOutput = %+v, %v, want unavailable", out, err)
		}
	}
	s.SetFault(nil)
	if got := readOnceItAnswers(t, p, ref(state), "c"); got.stdout != "x\n" || got.exit.Code != 3 {
		t.Errorf("after that: %+v", got)
	}
}

// Between two questions that came to nothing it may have answered for hours.
func TestASandboxIsSilentOnlyWhileItIsAsked(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	c := config(t, s)
	clock := &aheadClock{}
	c.Clock = clock
	c.Pace.Relay, c.Pace.Patience = 100*time.Millisecond, 100*time.Millisecond
	p := open(t, c)
	state := ready(t, p, spec(t))
	if err := p.StartCommand(t.Context(), ref(state), berth.CommandSpec{ID: "c", Script: "echo x; exit 3"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.SetFault(func(r *http.Request) daytonatest.Fault {
			if strings.HasPrefix(r.URL.Path, "/toolbox/") {
				return daytonatest.EmptyGateway
			}
			return daytonatest.None
		})
		s.CutStreams()
		out, err := p.ReadOutput(t.Context(), ref(state), "c", 0, 0, 10*time.Millisecond)
		if out.Ended || berth.CodeOf(err) != berth.CodeUnavailable && err != nil {
			t.Fatalf("ReadOutput = %+v, %v, want unavailable", out, err)
		}
		s.SetFault(nil)
		clock.pass(30 * time.Minute)
	}
	if got := readOnceItAnswers(t, p, ref(state), "c"); got.stdout != "x\n" || got.exit.Code != 3 {
		t.Errorf("after that: %+v", got)
	}
}

// aheadClock is the system's, and may be put ahead.
type aheadClock struct {
	berth.SystemClock
	ahead atomic.Int64
}

func (c *aheadClock) Now() time.Time { return c.SystemClock.Now().Add(time.Duration(c.ahead.Load())) }

func (c *aheadClock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// readOnceItAnswers reads a command whose sandbox is about to be in reach again.
func readOnceItAnswers(t *testing.T, p *daytona.Provider, ref berth.SandboxRef, id berth.CommandID) result {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := p.ReadOutput(t.Context(), ref, id, 0, 0, 10*time.Millisecond)
		if err == nil {
			return readCommand(t, p, ref, id)
		}
		if berth.CodeOf(err) != berth.CodeUnavailable || time.Now().After(deadline) {
			t.Fatalf("ReadOutput: %v", err)
		}
	}
}

func TestAStreamThatIsCutAgainAndAgainLosesNothing(t *testing.T) { // #4313: streams are reset after some time
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{KillTrees: true})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	script := "for i in {1..2000}; do echo line $i; (( i % 500 )) || sleep 0.3; done; exit 5"
	if err := p.StartCommand(t.Context(), ref(state), berth.CommandSpec{ID: "c", Script: script}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				s.CutStreams()
			}
		}
	}()
	got := readCommand(t, p, ref(state), "c")
	if n := strings.Count(got.stdout, "\n"); n != 2000 || got.exit.Code != 5 || !strings.HasSuffix(got.stdout, "line 2000\n") {
		t.Errorf("%d lines, exit %+v", n, got.exit)
	}
}

func TestADeletedSandboxIsNotFoundAndAStoppedOneAConflict(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	if err := p.StartCommand(t.Context(), ref(state), berth.CommandSpec{ID: "c", Script: "sleep 600.75"}); err != nil {
		t.Fatal(err)
	}
	for daytona, want := range map[string]berth.Code{"stopped": berth.CodeConflict, "destroyed": berth.CodeNotFound} {
		s.SetState(state.Ref, daytona)
		if _, err := p.ReadOutput(t.Context(), ref(state), "c", 0, 0, 0); berth.CodeOf(err) != want {
			t.Errorf("%s from outside: ReadOutput: %v, want %s", daytona, err, want)
		}
	}
}

func TestTheAutoStopIsHeldOffWhileARunLives(t *testing.T) { // daytonaio/daytona #3193, #2007
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	spec := spec(t)
	stop := berth.Duration("1m")
	spec.Environment.Lifecycle.AutoStop = &stop
	state := ready(t, p, spec)
	if err := p.StartCommand(t.Context(), ref(state), berth.CommandSpec{ID: "c", Script: "sleep 600.875"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ReadOutput(t.Context(), ref(state), "c", 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); s.Count(http.MethodPost, "/last-activity") == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody told Daytona that the sandbox is in use")
		}
	}
	s.Age(state.Ref, 50*time.Second)
	if err := p.KeepAlive(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	s.Age(state.Ref, 50*time.Second)
	if got, err := open(t, config(t, s)).Describe(t.Context(), ref(state)); err != nil || got.Status != berth.SandboxReady {
		t.Errorf("Describe = %+v, %v", got, err)
	}
	s.Age(state.Ref, 2*time.Minute) // and it stops when nobody does
	if got, err := open(t, config(t, s)).Describe(t.Context(), ref(state)); err != nil || got.Status == berth.SandboxReady {
		t.Errorf("Describe of one that is idle = %+v, %v", got, err)
	}
}

func TestCommandsNeverGoThroughSSHOrTheEntryPoint(t *testing.T) { // daytonaio/daytona #5027, #4511
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	if got := runCommand(t, p, ref(state), berth.CommandSpec{ID: "c", Script: "exit 9"}); got.exit.Code != 9 {
		t.Errorf("%+v", got)
	}
	for _, r := range s.Requests() {
		if strings.Contains(r.Path, "ssh-access") || strings.Contains(r.Path, "entrypoint") {
			t.Errorf("%s %s", r.Method, r.Path)
		}
	}
}

func TestAnUploadThatIsCutIsRepeated(t *testing.T) { // daytonaio/daytona PR #4747
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	s.TruncateUploads(2)
	p := open(t, config(t, s))
	state := ready(t, p, spec(t))
	if got := runCommand(t, p, ref(state), berth.CommandSpec{ID: "c", Script: "echo x"}); got.stdout != "x\n" {
		t.Errorf("%+v", got)
	}
	if n := s.Count(http.MethodPost, "/files/bulk-upload"); n != 3 {
		t.Errorf("%d uploads, want 3", n)
	}
}

func TestASecondProcessReusesTheGuest(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	state := ready(t, open(t, config(t, s)), spec(t))
	var calls atomic.Int64
	c := config(t, s)
	guest := c.Guest
	c.Guest = func(arch string) ([]byte, error) { calls.Add(1); return guest(arch) }
	next := open(t, c)
	if got := runCommand(t, next, ref(state), berth.CommandSpec{ID: "c", Script: "echo x"}); got.stdout != "x\n" {
		t.Errorf("%+v", got)
	}
	if n := s.Count(http.MethodPost, "/files/bulk-upload"); n != 1 || calls.Load() > 0 {
		t.Errorf("%d uploads, the guest was read %d times", n, calls.Load())
	}
}
