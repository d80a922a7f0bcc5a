package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// caller answers for the agents that join.
type caller struct {
	answer control.HostAnswer
	err    error
	calls  []control.HostCall
	during func()
}

func (c *caller) Call(_ context.Context, call control.HostCall) (control.HostAnswer, error) {
	c.calls = append(c.calls, call)
	if c.during != nil {
		c.during()
	}
	return c.answer, c.err
}

// hosting is a plane whose clock stands still and whose agents answer.
func hosting(t *testing.T) (*plane, *caller, *runnertest.ManualClock) {
	t.Helper()
	p, clock := newPlane(t), runnertest.NewManualClock()
	c := &caller{answer: control.HostAnswer{
		Installation: "inst", Version: "1", CPU: 8, MemoryBytes: 16e9, Providers: map[berth.ProviderKind]string{berth.ProviderDocker: ""},
	}}
	p.Caller, p.Clock, p.Records.Clock = c, clock, clock
	return p, c, clock
}

func (p *plane) add(id berth.HostID) string {
	p.t.Helper()
	token, err := p.AddHost(p.t.Context(), "01kjm8e4000000000000000000", berth.HostRequest{ID: id, Labels: map[string]string{"zone": "a"}}, "tester")
	if err != nil {
		p.t.Fatal(err)
	}
	return token.Token
}

func join(token string) berth.HostJoin {
	return berth.HostJoin{
		Token: token, Address: "https://10.0.0.7:7443", Fingerprint: "sha256:" + strings.Repeat("0a", 32), Bearer: strings.Repeat("b", 43),
		Providers: []berth.ProviderKind{berth.ProviderDocker}, Labels: map[string]string{"zone": "z", "disk": "ssd"},
		HostCapacity: berth.HostCapacity{CPU: 4, MemoryBytes: 8e9, Architecture: "arm64"}, Version: "1.2.3",
	}
}

func (p *plane) bearer(id string) string {
	value, err := p.Secrets.Read(p.t.Context(), "provider/host/"+id)
	if err != nil {
		return ""
	}
	return string(value.Reveal())
}

func TestAHostIsCalledBackBeforeItIsTakenIn(t *testing.T) {
	t.Parallel()
	p, c, clock := hosting(t)
	token := p.add("eu-1")
	c.during = func() {
		if h, err := p.Records.FindHost(t.Context(), "eu-1"); err != nil || h.Status != berth.HostJoining || p.bearer("eu-1") != "" {
			t.Errorf("while it is called it is %s, %v", h.Status, err)
		}
	}
	joined, err := p.JoinHost(t.Context(), join(token))
	if err != nil {
		t.Fatal(err)
	}
	want := control.HostCall{Address: "https://10.0.0.7:7443", Fingerprint: "sha256:" + strings.Repeat("0a", 32)}
	if len(c.calls) != 1 || string(c.calls[0].Bearer.Reveal()) != strings.Repeat("b", 43) || c.calls[0].Address != want.Address || c.calls[0].Fingerprint != want.Fingerprint {
		t.Errorf("called %+v", c.calls)
	}
	stored, err := p.Records.FindHost(t.Context(), "eu-1")
	if diff := cmp.Diff(joined.Host, stored.Host); err != nil || diff != "" {
		t.Errorf("recorded (-joined +stored):\n%s%v", diff, err)
	}
	if diff := cmp.Diff(map[string]string{"zone": "a", "disk": "ssd"}, stored.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if stored.Status != berth.HostReady || stored.CPU != 4 || stored.Host.Version != "1.2.3" || stored.SeenAt != nil {
		t.Errorf("stored %+v", stored.Host)
	}
	if p.bearer("eu-1") != strings.Repeat("b", 43) {
		t.Error("the bearer is not kept")
	}
	who, err := access.NewAuthenticator(access.Config{Records: p.Records, Clock: clock}).Authenticate(t.Context(), joined.Key)
	if err != nil || who.Host != "eu-1" || len(who.Scopes) != 1 || who.Scopes[0] != berth.ScopeHost {
		t.Errorf("its key stands for %+v, %v", who, err)
	}
}

func TestAJoinThatIsRefusedSaysWhyAndLeavesTheTokenGood(t *testing.T) {
	t.Parallel()
	docker := berth.ProviderDocker
	for name, test := range map[string]struct {
		change func(*caller, *berth.HostJoin)
		code   berth.Code
		field  string
		says   string
	}{
		"an address that cannot be called back": {func(c *caller, _ *berth.HostJoin) {
			c.err = berth.FieldErrorf(berth.CodeInvalid, "address", "cannot be called back: refused")
		}, berth.CodeInvalid, "address", "cannot be called back"},
		"another certificate": {func(c *caller, _ *berth.HostJoin) {
			c.err = berth.FieldErrorf(berth.CodeInvalid, "fingerprint", "is not that of the certificate")
		}, berth.CodeInvalid, "fingerprint", "certificate"},
		"another bearer": {func(c *caller, _ *berth.HostJoin) {
			c.err = berth.FieldErrorf(berth.CodeInvalid, "bearer", "is refused")
		}, berth.CodeInvalid, "bearer", "refused"},
		"an agent of another installation": {func(c *caller, _ *berth.HostJoin) { c.answer.Installation = "other" }, berth.CodeConflict, "address", "another installation: other"},
		"what is no agent":                 {func(c *caller, _ *berth.HostJoin) { c.answer = control.HostAnswer{} }, berth.CodeInvalid, "address", "names no installation"},
		"a provider that it does not serve": {
			func(c *caller, _ *berth.HostJoin) { delete(c.answer.Providers, docker) },
			berth.CodeInvalid, "providers[0]", "is not served",
		},
		"an engine that does not work": {
			func(c *caller, _ *berth.HostJoin) { c.answer.Providers[docker] = "no socket" },
			berth.CodeInvalid, "providers[0]", "no socket",
		},
		"more cores than there are":  {func(_ *caller, j *berth.HostJoin) { j.CPU = 9 }, berth.CodeInvalid, "cpu", "8 cores"},
		"more memory than there is":  {func(_ *caller, j *berth.HostJoin) { j.MemoryBytes = 17e9 }, berth.CodeInvalid, "memory_bytes", "16000000000"},
		"a store that does not keep": {func(c *caller, _ *berth.HostJoin) { c.err = errors.New("broken") }, berth.CodeInternal, "", "calling host eu-1 back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c, _ := hosting(t)
			good := *c
			token := p.add("eu-1")
			j := join(token)
			test.change(c, &j)
			_, err := p.JoinHost(t.Context(), j)
			var e *berth.Error
			if berth.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) || errors.As(err, &e) && fieldOf(e) != test.field {
				t.Errorf("refused with %v, want %s at %q saying %q", err, test.code, test.field, test.says)
			}
			if p.bearer("eu-1") != "" {
				t.Error("the bearer of a refused host is kept")
			}
			c.err = nil
			c.answer = good.answer
			c.answer.Providers = map[berth.ProviderKind]string{docker: ""}
			if _, err := p.JoinHost(t.Context(), join(token)); err != nil {
				t.Errorf("joining again, as it should be: %v", err)
			}
		})
	}
}

// fieldOf is where an error is, also the only one of its problems.
func fieldOf(e *berth.Error) string {
	if len(e.Problems) == 1 {
		return e.Problems[0].Location
	}
	return e.Field
}

func TestAnAddressThatOnlyTheHostUnderstandsIsRefused(t *testing.T) {
	t.Parallel()
	p, c, _ := hosting(t)
	token := p.add("eu-1")
	for _, address := range []string{
		"", "10.0.0.7:7443", "http://10.0.0.7:7443", "https://", "https://user@10.0.0.7", "https://10.0.0.7/path", "https://10.0.0.7?x=y", "https://10.0.0.7:0",
		"https://10.0.0.7:99999", "https://10.0.0.7:", "https://127.0.0.1:7443", "https://localhost:7443", "https://LOCALHOST.:7443", "https://a.localhost", "https://[::1]:7443",
		"https://0.0.0.0:7443", "https://169.254.169.254", "https://[fe80::1]:7443", "https://[fe80::1%25eth0]:7443", "https://[fd00::1%25eth0]:7443", "https://224.0.0.1", "https://[::ffff:127.0.0.1]:7443",
	} {
		j := join(token)
		j.Address = address
		_, err := p.JoinHost(t.Context(), j)
		wantCode(t, "joining from "+address, err, berth.CodeInvalid)
	}
	if len(c.calls) > 0 {
		t.Errorf("called %+v", c.calls)
	}
	p.LoopbackHosts = true
	for address, code := range map[string]berth.Code{"https://169.254.169.254": berth.CodeInvalid, "https://127.0.0.1:7443": ""} {
		j := join(token)
		j.Address = address
		_, err := p.JoinHost(t.Context(), j)
		wantCode(t, "joining from "+address+" where the server's machine may", err, code)
	}
}

func TestATokenIsGoodOnceAndForTenMinutesAndNotAfterRemoval(t *testing.T) {
	t.Parallel()
	p, _, clock := hosting(t)
	late := p.add("late")
	clock.Advance(berth.JoinTokenLife)
	_, err := p.JoinHost(t.Context(), join(late))
	wantCode(t, "a token of ten minutes ago", err, berth.CodeUnauthenticated)

	used := p.add("eu-1")
	if _, err := p.JoinHost(t.Context(), join(used)); err != nil {
		t.Fatal(err)
	}
	_, err = p.JoinHost(t.Context(), join(used))
	wantCode(t, "a token twice", err, berth.CodeConflict)
	if !strings.Contains(err.Error(), "was used") || p.bearer("eu-1") == "" {
		t.Errorf("the second join says %v, and the bearer is %q", err, p.bearer("eu-1"))
	}

	_, err = p.JoinHost(t.Context(), join("bthj_never"))
	wantCode(t, "a token that was never one", err, berth.CodeUnauthenticated)
	var e *berth.Error
	if !errors.As(err, &e) || !strings.Contains(e.Remediation, "berth host add") {
		t.Errorf("what to do about it is %q, want where another comes from", e.Remediation)
	}

	gone := p.add("gone")
	if err := p.RemoveHost(t.Context(), "gone", false); err != nil {
		t.Fatal(err)
	}
	_, err = p.JoinHost(t.Context(), join(gone))
	wantCode(t, "a token of a removed host", err, berth.CodeUnauthenticated)
}

func TestAnAgentThatIsAHostAlreadyIsRefused(t *testing.T) {
	t.Parallel()
	p, c, _ := hosting(t)
	if _, err := p.JoinHost(t.Context(), join(p.add("eu-1"))); err != nil {
		t.Fatal(err)
	}
	token := p.add("eu-2")
	_, err := p.JoinHost(t.Context(), join(token))
	wantCode(t, "joining twice", err, berth.CodeConflict)
	if !strings.Contains(err.Error(), "host eu-1") || len(c.calls) != 1 || p.bearer("eu-1") == "" {
		t.Errorf("refused with %v after %d calls", err, len(c.calls))
	}
	if err := p.RemoveHost(t.Context(), "eu-1", false); err != nil {
		t.Fatal(err)
	}
	if _, err := p.JoinHost(t.Context(), join(token)); err != nil {
		t.Errorf("after the removal: %v", err)
	}
}

func TestAJoinOnTheWayKeepsOthersOut(t *testing.T) {
	t.Parallel()
	p, c, clock := hosting(t)
	token := p.add("eu-1")
	c.during = func() {
		c.during = nil
		other := join(token)
		other.Bearer = strings.Repeat("x", 43)
		_, err := p.JoinHost(t.Context(), other)
		wantCode(t, "a join during a join", err, berth.CodeConflict)
		_, err = p.AddHost(t.Context(), "", berth.HostRequest{ID: "eu-1"}, "tester")
		wantCode(t, "a new token during a join", err, berth.CodeConflict)
		clock.Advance(time.Second)
	}
	if _, err := p.JoinHost(t.Context(), join(token)); err != nil {
		t.Fatal(err)
	}
	if p.bearer("eu-1") != strings.Repeat("b", 43) {
		t.Errorf("the bearer is %q", p.bearer("eu-1"))
	}
}

func TestASlowJoinOfARemovedHostLeavesTheBearerOfTheNewOneAlone(t *testing.T) {
	t.Parallel()
	for name, refuses := range map[string]error{
		"one that would be accepted": nil,
		"one that is refused":        berth.FieldErrorf(berth.CodeInvalid, "address", "cannot be called back"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, c, _ := hosting(t)
			leaked := p.add("eu-1")
			c.during = func() {
				c.during = nil
				if err := p.RemoveHost(t.Context(), "eu-1", false); err != nil {
					t.Fatal(err)
				}
				if _, err := p.JoinHost(t.Context(), join(p.add("eu-1"))); err != nil {
					t.Fatal(err)
				}
				c.err = refuses
			}
			slow := join(leaked)
			slow.Bearer, slow.Fingerprint = strings.Repeat("x", 43), "sha256:"+strings.Repeat("0b", 32)
			if _, err := p.JoinHost(t.Context(), slow); berth.CodeOf(err) == "" {
				t.Error("the token of a removed host was good")
			}
			if p.bearer("eu-1") != strings.Repeat("b", 43) {
				t.Errorf("the bearer is %q, want that of the host that has joined", p.bearer("eu-1"))
			}
		})
	}
}

func TestARefusedJoinOfAHostThatWasRemovedKeepsNoBearer(t *testing.T) {
	t.Parallel()
	p, c, _ := hosting(t)
	token := p.add("eu-1")
	c.during = func() {
		if err := p.RemoveHost(t.Context(), "eu-1", false); err != nil {
			t.Fatal(err)
		}
	}
	_, err := p.JoinHost(t.Context(), join(token))
	wantCode(t, "joining as a host that was removed meanwhile", err, berth.CodeConflict)
	if p.bearer("eu-1") != "" {
		t.Errorf("the bearer %q is kept", p.bearer("eu-1"))
	}
}

func TestAHostIsRemovedByForceWhileSandboxesAreOnIt(t *testing.T) {
	t.Parallel()
	p, _, _ := hosting(t)
	joined, err := p.JoinHost(t.Context(), join(p.add("eu-1")))
	if err != nil {
		t.Fatal(err)
	}
	sb, err := p.Records.CreateSandbox(t.Context(), berth.Sandbox{
		ID: berth.SandboxID(p.IDs.NewID()), Provider: berth.ProviderDocker, Host: "eu-1", Status: berth.SandboxReady, Preserved: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if taken, err := p.Records.TakePlace(t.Context(), joined.Host, sb.ID, berth.Demand{CPU: 1}); err != nil || !taken {
		t.Fatal(taken, err)
	}
	// One more is recorded there that lost its place.
	stray, err := p.Records.CreateSandbox(t.Context(), berth.Sandbox{
		ID: berth.SandboxID(p.IDs.NewID()), Provider: berth.ProviderDocker, Host: "eu-1", Status: berth.SandboxStopped,
	})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "RemoveHost with a sandbox there", p.RemoveHost(t.Context(), "eu-1", false), berth.CodeConflict)
	if err := p.RemoveHost(t.Context(), "eu-1", true); err != nil {
		t.Fatal(err)
	}
	for _, id := range []berth.SandboxID{sb.ID, stray.ID} {
		if now := p.sandbox(id); now.Status != berth.SandboxDestroyed || now.Reason == nil || now.Reason.Code != berth.ReasonLost {
			t.Errorf("its sandbox is %+v", now)
		}
	}
	if _, err := p.Records.FindHost(t.Context(), "eu-1"); berth.CodeOf(err) != berth.CodeNotFound || p.bearer("eu-1") != "" {
		t.Errorf("left: %v, bearer %q", err, p.bearer("eu-1"))
	}
	if keys, _, err := p.Records.ListKeys(t.Context(), 10, ""); err != nil || len(keys) > 0 {
		t.Errorf("left keys %v, %v", keys, err)
	}
}
