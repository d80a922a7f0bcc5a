//go:build linux

package exe_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/exe"
	"github.com/berth-dev/berth/shared/sandbox/exe/exetest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func (r *rig) wantNone(t *testing.T) {
	t.Helper()
	if vms := r.server.VMs(); len(vms) > 0 {
		t.Errorf("VMs are left: %v", vms)
	}
}

func TestTheVMIsMadeAsTheEnvironmentSays(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	s := spec(t)
	s.Environment.Exe = &berth.ExeOptions{Image: "ghcr.io/org/image:1.2"}
	state, err := r.provision(t, s)
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	v := r.vm(t, s.ID)
	if v.Image != "ghcr.io/org/image:1.2" || !slices.Contains(v.Tags, "berth-test") || v.Comment != "berth:test:"+string(s.Run) {
		t.Errorf("the VM is %+v", v)
	}
	if want := v.SSH.Home + "/workspace"; state.Workspace != want {
		t.Errorf("the workspace is %q, want %q, apart from what the home holds", state.Workspace, want)
	}
	want := berth.ShellQuote("ssh", "-t", "-p", v.SSH.Port, v.SSH.Destination(), "cd "+state.Workspace+" && exec bash -i")
	if got, err := r.present.OpenShell(t.Context(), berth.SandboxRef{ID: s.ID, Ref: state.Ref}, time.Hour); err != nil || got != want {
		t.Errorf("OpenShell = %q, %v; want %q", got, err, want)
	}
	if err := r.present.Destroy(t.Context(), berth.SandboxRef{ID: s.ID}); err != nil {
		t.Fatal(err)
	}
	r.wantNone(t)
}

func TestWhateverTheLobbyDoesNoVMIsLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faults exetest.Faults
		code   berth.Code // of Provision; none when it succeeds in the end
		words  string
		failed bool
	}{
		"it has heard too much for a while": {faults: exetest.Faults{RateLimits: 2}},
		"it is slow":                        {faults: exetest.Faults{SlowStart: 2 * time.Second}},
		"it is slow and tells little":       {faults: exetest.Faults{SlowStart: 2 * time.Second, Sparse: true}},
		"it has heard far too much":         {faults: exetest.Faults{RateLimits: 1000}, code: berth.CodeRateLimited, words: "rate limit"},
		"new prints no JSON":                {faults: exetest.Faults{NoJSON: 1}, code: berth.CodeUnavailable, words: "no JSON"},
		"the plan has no more VMs":          {faults: exetest.Faults{Refusal: "VM limit reached for your plan"}, code: berth.CodeForbidden, words: "limit reached"},
		"the image is not known":            {faults: exetest.Faults{Refusal: "cannot pull image"}, code: berth.CodeInvalid, words: "cannot pull"},
		"the image is not there":            {faults: exetest.Faults{Refusal: `image "ghcr.io/o/i:1" not found`}, code: berth.CodeInvalid, words: "exe.image"},
		"the image is not to be had":        {faults: exetest.Faults{Refusal: `image "ghcr.io/o/i:1" is not available`}, code: berth.CodeInvalid, words: "exe.image"},
		"the VM never answers":              {faults: exetest.Faults{NeverStarts: true}, words: "did not answer", failed: true},
		"the VM never answers, untold":      {faults: exetest.Faults{NeverStarts: true, Sparse: true}, words: "did not answer", failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock berth.Clock = hurried{}
			if tt.failed { // which is what the test waits for
				clock = &sandboxtest.HastyClock{}
			}
			r := newRig(t, func(c *exe.Config) { c.Patience, c.StartLimit, c.Clock = 20*time.Second, 2*time.Minute, clock })
			r.server.Break(tt.faults)
			s := spec(t)
			state, err := r.provision(t, s)
			r.server.Break(exetest.Faults{})
			switch {
			case tt.failed:
				if err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, tt.words) {
					t.Errorf("Provision = %+v, %v", state, err)
				}
			case tt.code != "":
				if berth.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.words) {
					t.Errorf("Provision = %+v, %v; want %s", state, err, tt.code)
				}
			default:
				if err != nil || state.Status != berth.SandboxReady {
					t.Fatalf("Provision = %+v, %v", state, err)
				}
				if err := r.present.Destroy(bounded(t), berth.SandboxRef{ID: s.ID}); err != nil {
					t.Fatal(err)
				}
			}
			r.wantNone(t)
		})
	}
}

// hurried is a clock whose sleeps are short.
type hurried struct{ berth.SystemClock }

func (c hurried) Sleep(ctx context.Context, d time.Duration) error {
	return c.SystemClock.Sleep(ctx, min(d, 50*time.Millisecond))
}

// skewed is a clock that is off.
type skewed struct {
	berth.SystemClock
	off time.Duration
}

func (c skewed) Now() time.Time { return c.SystemClock.Now().Add(c.off) }

func TestAClockThatIsOffGivesNoVMUpAndWaitsForNoneTooLong(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock berth.Clock = skewed{off: off}
			patience := time.Second
			r := newRig(t, func(c *exe.Config) { c.Patience, c.StartLimit, c.Clock = patience, 2*time.Minute, clock })
			r.server.Break(exetest.Faults{SlowStart: 3 * time.Second})
			s := spec(t)
			if state, err := r.provision(t, s); err != nil || state.Status != berth.SandboxReady {
				t.Errorf("Provision of a slow VM = %+v, %v", state, err)
			}
			if err := r.present.Destroy(bounded(t), berth.SandboxRef{ID: s.ID}); err != nil {
				t.Fatal(err)
			}
			patience, clock = 20*time.Second, &sandboxtest.HastyClock{Ahead: off}
			r.reopen()
			r.server.Break(exetest.Faults{NeverStarts: true})
			if state, err := r.provision(t, spec(t)); err != nil || state.Status != berth.SandboxFailed {
				t.Errorf("Provision of a VM that never answers = %+v, %v", state, err)
			}
			r.wantNone(t)
		})
	}
}

func TestAnAnswerThatNeverComesLosesNoVM(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]exetest.Faults{"no exit frame": {NoExit: 1}, "a cut connection": {Cut: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(c *exe.Config) { c.CommandLimit = 10 * time.Second })
			s := spec(t)
			r.server.Break(faults)
			if state, err := r.present.Provision(bounded(t), s); berth.CodeOf(err) != berth.CodeUnavailable {
				t.Errorf("Provision = %+v, %v", state, err)
			}
			r.wantNone(t) // it was made, and removed by its name
			if state, err := r.provision(t, s); err != nil || state.Status != berth.SandboxReady {
				t.Errorf("Provision again = %+v, %v", state, err)
			}
			if n := len(r.server.VMs()); n != 1 {
				t.Errorf("%d VMs, want 1", n)
			}
			if err := r.present.Destroy(bounded(t), berth.SandboxRef{ID: s.ID}); err != nil {
				t.Fatal(err)
			}
			r.wantNone(t)
		})
	}
}

func TestAServerThatDiedAtAnyStepLeavesNoVM(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *exe.Config) { c.Patience = time.Second })
	// The VM was made, and its server died before it heard so: no Ref is recorded.
	r.server.Break(exetest.Faults{NeverStarts: true})
	s := spec(t)
	if state, err := r.present.Provision(bounded(t), s); err != nil || state.Status != berth.SandboxCreating {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	p := r.reopen()
	list, err := p.List(bounded(t))
	if err != nil || len(list) != 1 || list[0].ID != s.ID || list[0].Run != s.Run || list[0].Status != berth.SandboxCreating {
		t.Errorf("List = %+v, %v", list, err)
	}
	// The first removal fails with status 0, as the lobby does it.
	r.server.Break(exetest.Faults{KeepOnRemove: 1})
	if err := p.Destroy(bounded(t), berth.SandboxRef{ID: s.ID}); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "busy") {
		t.Errorf("Destroy: %v", err)
	}
	if err := r.reopen().Destroy(bounded(t), berth.SandboxRef{ID: s.ID}); err != nil {
		t.Fatal(err)
	}
	r.wantNone(t)
	// A provision that is cancelled leaves a VM that its name leads to.
	r.server.Break(exetest.Faults{SlowStart: time.Hour})
	ctx, cancel := context.WithCancel(bounded(t))
	time.AfterFunc(500*time.Millisecond, cancel)
	cancelled := spec(t)
	_, _ = r.present.Provision(ctx, cancelled) // whether it got that far or not
	if err := r.present.Destroy(bounded(t), berth.SandboxRef{ID: cancelled.ID}); err != nil {
		t.Fatal(err)
	}
	r.wantNone(t)
}

// failing is a lobby of which one command fails.
type failing struct {
	exe.Shell

	mu    sync.Mutex // guards what follows
	left  int        // commands until one fails
	after bool       // it is done, and its answer lost
}

func (f *failing) set(step int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after = step, after
}

func (f *failing) Run(ctx context.Context, line string, stdin io.Reader) ([]byte, error) {
	f.mu.Lock()
	f.left--
	fails, after := f.left == 0, f.after
	f.mu.Unlock()
	cut := berth.Errorf(berth.CodeUnavailable, "the connection was cut")
	if fails && !after {
		return nil, cut
	}
	out, err := f.Shell.Run(ctx, line, stdin)
	if fails {
		return nil, cut
	}
	return out, err
}

func TestALobbyThatIsCutAtAnyStepLeavesNoVM(t *testing.T) {
	t.Parallel()
	f := &failing{}
	r := newRig(t, func(c *exe.Config) { f.Shell, c.Lobby = c.Lobby, f })
	for step := 1; step <= 3; step++ {
		for _, after := range []bool{false, true} {
			s := spec(t)
			f.set(step, after)
			_, _ = r.present.Provision(bounded(t), s) // whether it got that far or not
			p := r.reopen()                           // the server died
			f.set(step, after)
			err := p.Destroy(bounded(t), berth.SandboxRef{ID: s.ID})
			if err != nil {
				f.set(0, false)
				err = p.Destroy(bounded(t), berth.SandboxRef{ID: s.ID})
			}
			f.set(0, false)
			if vms := r.server.VMs(); err != nil || len(vms) > 0 {
				t.Errorf("step %d, after %v: Destroy: %v; left %v", step, after, err, vms)
			}
		}
	}
}

func TestWhatIsNotOursIsNeverTouched(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	config := r.config()
	config.Installation = "other"
	stranger := exe.New(config)
	t.Cleanup(func() { stranger.Close() })
	s := spec(t)
	state, err := stranger.Provision(bounded(t), s)
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	if list, err := r.present.List(bounded(t)); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := r.present.Destroy(bounded(t), berth.SandboxRef{ID: s.ID, Ref: state.Ref}); err != nil {
		t.Errorf("Destroy: %v", err)
	}
	if _, err := r.present.Provision(bounded(t), s); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Provision of a name that another has: %v", err)
	}
	if r.vm(t, s.ID); len(r.server.VMs()) != 1 {
		t.Error("the other's VM is gone")
	}
	if err := stranger.Destroy(bounded(t), berth.SandboxRef{ID: s.ID}); err != nil {
		t.Fatal(err)
	}
}

func TestAVMThatIsRemovedByHandIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	s := spec(t)
	state, err := r.provision(t, s)
	if err != nil {
		t.Fatal(err)
	}
	ref := berth.SandboxRef{ID: s.ID, Ref: state.Ref}
	other := exe.New(r.config())
	defer other.Close()
	if err := other.Destroy(bounded(t), ref); err != nil {
		t.Fatal(err)
	}
	if state, err := r.present.Describe(bounded(t), ref); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	if err := r.present.StartCommand(bounded(t), ref, berth.CommandSpec{ID: "c", Script: "true"}); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("StartCommand: %v", err)
	}
	if err := r.present.Destroy(bounded(t), ref); err != nil {
		t.Errorf("Destroy: %v", err)
	}
}
