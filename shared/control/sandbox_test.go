package control_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
)

func TestAKeptSandboxIsStoppedStartedAndDestroyedAsOftenAsAsked(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	id := p.kept(true, "local", "true").ID
	for range 2 {
		for range 2 {
			if sb, err := p.StartSandbox(t.Context(), id); err != nil || sb.Status != berth.SandboxReady || sb.Workspace == "" {
				t.Fatalf("StartSandbox() = %+v, %v", sb, err)
			}
		}
		for range 2 {
			if sb, err := p.StopSandbox(t.Context(), id); err != nil || sb.Status != berth.SandboxStopped {
				t.Fatalf("StopSandbox() = %+v, %v", sb, err)
			}
		}
	}
	for range 2 {
		if err := p.DestroySandbox(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if sb := p.sandbox(id); sb.Status != berth.SandboxDestroyed || sb.Preserved || sb.Hint != "" {
		t.Errorf("the record is %+v", sb)
	}
	_, err := p.StartSandbox(t.Context(), id)
	wantCode(t, "StartSandbox of a destroyed one", err, berth.CodeConflict)
	_, err = p.StopSandbox(t.Context(), id)
	wantCode(t, "StopSandbox of a destroyed one", err, berth.CodeConflict)
}

func TestASandboxThatVanishedIsRecordedAsDestroyedWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	sb := p.kept(false, "local", "true")
	p.provider.Vanish(sb.ID)
	_, err := p.StartCommand(t.Context(), sb, berth.CommandRequest{Command: []string{"true"}})
	wantCode(t, "StartCommand in a vanished sandbox", err, berth.CodeConflict)
	if now := p.sandbox(sb.ID); now.Status != berth.SandboxDestroyed || now.Reason == nil || now.Reason.Code != berth.ReasonLost {
		t.Errorf("the record is %+v", now)
	}
}

func TestASandboxThatDoesNotGetReadySaysWhy(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	id := p.kept(true, "local", "true").ID
	p.Providers = control.NewProviders(noBash{p.provider})
	_, err := p.StartSandbox(t.Context(), id)
	wantCode(t, "StartSandbox without bash", err, berth.CodeUnavailable)
	if err == nil || !strings.Contains(err.Error(), "no bash") {
		t.Errorf("StartSandbox() = %v", err)
	}
	if sb := p.sandbox(id); sb.Status != berth.SandboxStopped {
		t.Errorf("it is recorded as %s", sb.Status)
	}
}

// noBash makes sandboxes that fail to start.
type noBash struct{ berth.Provider }

func (noBash) Start(_ context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	return berth.SandboxState{ID: ref.ID, Status: berth.SandboxFailed, Reason: &berth.Reason{Code: berth.ReasonBashMissing, Message: "there is no bash"}}, nil
}

func TestUnknownSandboxesAreNotFound(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	_, err := p.StartSandbox(t.Context(), "nobody")
	wantCode(t, "StartSandbox", err, berth.CodeNotFound)
	_, err = p.StopSandbox(t.Context(), "nobody")
	wantCode(t, "StopSandbox", err, berth.CodeNotFound)
	wantCode(t, "DestroySandbox", p.DestroySandbox(t.Context(), "nobody"), berth.CodeNotFound)
}

// halfMade records a sandbox of an ended run that did not get ready.
func (p *plane) halfMade(change func(*berth.Sandbox)) berth.SandboxID {
	p.t.Helper()
	id := p.kept(true, "local", "true").ID
	_, err := p.Records.ChangeSandbox(p.t.Context(), id, func(sb *berth.Sandbox) error {
		sb.Status, sb.Preserved = berth.SandboxFailed, false
		change(sb)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

func TestASandboxOfWhichNothingWasMadeIsDestroyedWithoutItsProvider(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	id := p.halfMade(func(sb *berth.Sandbox) {
		sb.Ref, sb.Reason = "", &berth.Reason{Code: berth.ReasonUnreachable, Message: "connection refused"}
	})
	if err := p.DestroySandbox(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if sb := p.sandbox(id); sb.Status != berth.SandboxDestroyed || p.provider.Calls("Destroy") != 0 {
		t.Errorf("it is %s after %d calls of its provider", sb.Status, p.provider.Calls("Destroy"))
	}
}

func TestASandboxWhoseProviderIsGoneIsForgottenOnlyByForce(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*plane){
		"that does not answer": func(p *plane) {
			away := berth.Errorf(berth.CodeUnavailable, "no answer")
			p.provider.Fail("Destroy", away, away)
		},
		"that is off": func(p *plane) { p.Providers = control.NewProviders() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			id := p.halfMade(func(sb *berth.Sandbox) { sb.Ref = "box-7" })
			lose(p)
			if err := p.DestroySandbox(t.Context(), id); err == nil {
				t.Error("DestroySandbox() = nil")
			}
			if sb := p.sandbox(id); sb.Status != berth.SandboxFailed {
				t.Errorf("it is %s", sb.Status)
			}
			for range 2 {
				if err := p.ForgetSandbox(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			sb := p.sandbox(id)
			if sb.Status != berth.SandboxDestroyed || sb.Reason == nil || sb.Reason.Code != berth.ReasonForgotten {
				t.Fatalf("the record is %+v", sb)
			}
			if !strings.Contains(sb.Reason.Message, "local") || !strings.Contains(sb.Reason.Message, "box-7") {
				t.Errorf("it does not say what may be left where: %s", sb.Reason.Message)
			}
		})
	}
}

// stopping is a provider that is busy with the sandbox, and tells how much time it
// was given.
type stopping struct {
	berth.Provider
	given *time.Duration
}

func (s stopping) Destroy(ctx context.Context, _ berth.SandboxRef) error {
	end, _ := ctx.Deadline()
	*s.given = time.Until(end)
	return berth.Errorf(berth.CodeConflict, "it is being stopped")
}

func TestASandboxIsNotForgottenForWhatPassesOrIsNoFaultOfItsProvider(t *testing.T) {
	t.Parallel()
	var given time.Duration
	for name, tt := range map[string]struct {
		hinder func(*plane)
		want   berth.Code
	}{
		"a conflict at the provider, which has long enough": {
			func(p *plane) { p.Providers = control.NewProviders(stopping{p.provider, &given}) }, berth.CodeConflict,
		},
		"a table that does not take the record": {
			func(p *plane) {
				store := *p.Records
				store.Table = &busyOnce{Table: store.Table}
				p.Records = &store
			}, berth.CodeUnavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			id := p.halfMade(func(sb *berth.Sandbox) { sb.Ref = "box-7" })
			tt.hinder(p)
			wantCode(t, "ForgetSandbox", p.ForgetSandbox(t.Context(), id), tt.want)
			if sb := p.sandbox(id); sb.Status != berth.SandboxFailed {
				t.Errorf("it is %s, %+v", sb.Status, sb.Reason)
			}
			if tt.want == berth.CodeConflict && (given < 15*time.Second || given > 25*time.Second) {
				t.Errorf("the provider had %s", given)
			}
		})
	}
}

// busyOnce is a table that fails the first write and takes the ones after it.
type busyOnce struct {
	berth.Table
	failed bool
}

func (t *busyOnce) Put(ctx context.Context, item berth.Item) (int64, error) {
	if !t.failed {
		t.failed = true
		return 0, berth.Errorf(berth.CodeUnavailable, "the table does not answer")
	}
	return t.Table.Put(ctx, item)
}

func TestForceDestroysWhereTheProviderAnswersAndSparesLiveRuns(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	id := p.kept(true, "local", "true").ID
	if err := p.ForgetSandbox(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if sb := p.sandbox(id); sb.Status != berth.SandboxDestroyed || sb.Reason != nil || p.provider.Status(id) != berth.SandboxGone {
		t.Errorf("the record is %+v, at the provider it is %s", sb, p.provider.Status(id))
	}
	live := p.until(p.create(p.request("sleep")), running)
	wantCode(t, "ForgetSandbox of a live run", p.ForgetSandbox(t.Context(), live.Sandbox), berth.CodeConflict)
	if err := p.CancelRun(t.Context(), live.ID); err != nil {
		t.Fatal(err)
	}
	p.ended(live.ID)
}
