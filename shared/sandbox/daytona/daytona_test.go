//go:build linux

package daytona_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

const installation = "test"

func secret(value string) func(context.Context) (berth.SecretValue, error) {
	return func(context.Context) (berth.SecretValue, error) { return berth.NewSecretValue([]byte(value)), nil }
}

// quick is a pace for a server that takes no time.
var quick = daytona.Pace{
	Poll: 10 * time.Millisecond, FirstPause: 5 * time.Millisecond, Patience: 10 * time.Second, Start: 10 * time.Second, Snapshot: 20 * time.Second,
	Restart: time.Minute, Stop: time.Minute,
}

// config is for a server. With -short there is no guest: see needGuest.
func config(t testing.TB, s *daytonatest.Server) daytona.Config {
	c := daytona.Config{
		URL: s.URL(), Key: secret(daytonatest.Key), Scope: secret("scope"), Installation: installation, Pace: quick,
		Guest: func(string) ([]byte, error) { return nil, errors.New("there is no guest with -short") },
	}
	if !testing.Short() {
		guest := sandboxtest.GuestBytes(t)
		c.Guest = func(string) ([]byte, error) { return guest, nil }
	}
	return c
}

// needGuest leaves tests to the long run that start the guest and its daemon.
func needGuest(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a guest and its processes are started: run without -short")
	}
}

func open(t testing.TB, c daytona.Config) *daytona.Provider {
	t.Helper()
	p, err := daytona.New(c)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

const run = berth.RunID("01arz3ndektsv4rrffq69g5fav")

func spec(testing.TB) berth.SandboxSpec {
	e := berth.EnvironmentDefaults()
	e.ID, e.Provider = "cloud", berth.ProviderDaytona
	return berth.SandboxSpec{ID: sandboxtest.NewID(), Installation: installation, Run: run, Environment: berth.NormalizeEnvironment(e)}
}

// Memory is counted: nothing else of this package runs meanwhile.
func TestDaytonaKeepsTheContractOfProviders(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract of providers starts hundreds of processes: run without -short")
	}
	sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture {
		s := daytonatest.New(t, daytonatest.Config{KillTrees: true})
		c := config(t, s)
		present := open(t, c)
		homeOf := func(id berth.SandboxID) string {
			for _, row := range s.Sandboxes() {
				if row.Labels["dev.berth.sandbox"] == string(id) {
					return row.Home
				}
			}
			return "no such sandbox"
		}
		return sandboxtest.Fixture{
			Provider: present,
			Spec:     spec,
			Reopen: func(sub testing.TB) berth.Provider {
				if err := present.Close(); err != nil {
					sub.Fatal(err)
				}
				present = open(t, c)
				return present
			},
			KillGuest: func(t testing.TB, ref berth.SandboxRef) {
				sandboxtest.Kill(t, "berth-guest\x00-dir\x00"+homeOf(ref.ID))
			},
			Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
			Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
				left := sandboxtest.Left(string(id))
				if home := homeOf(id); home != "no such sandbox" {
					left = append(left, home)
				}
				return left
			},
			Asleep:      true,
			FarEndBytes: 128 << 20, // of thirteen servers at a time
		}
	})
}

// ready provisions a sandbox and waits for it.
func ready(t testing.TB, p *daytona.Provider, spec berth.SandboxSpec) berth.SandboxState {
	t.Helper()
	needGuest(t)
	state, err := provision(t.Context(), p, spec)
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v; reason %+v", state, err, state.Reason)
	}
	return state
}

// provision asks as a run does until there is an end to it.
func provision(ctx context.Context, p *daytona.Provider, spec berth.SandboxSpec) (berth.SandboxState, error) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		state, err := p.Provision(ctx, spec)
		if err != nil || state.Status != berth.SandboxCreating || time.Now().After(deadline) || ctx.Err() != nil {
			return state, err
		}
	}
}

func wantIn(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s = %q, which does not say %q", what, text, part)
		}
	}
}

// cut is a context that ends soon, as that of a process that dies.
func cut(t testing.TB, after time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), after)
	t.Cleanup(cancel)
	return ctx
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
