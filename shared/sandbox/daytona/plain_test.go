//go:build linux

package daytona_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// guestless is a server on whose machines no guest runs, and a provider that can
// do without.
func guestless(t testing.TB) (*daytonatest.Server, *daytona.Provider) { return guestlessAt(t, 0) }

// guestlessAt waits so long for a session to show something.
func guestlessAt(t testing.TB, dial time.Duration) (*daytonatest.Server, *daytona.Provider) {
	s := daytonatest.New(t, daytonatest.Config{KillTrees: true})
	s.Pretend("uname -m; [ -x /bin/bash ] && echo bash", "riscv64\nbash\n")
	c := config(t, s)
	c.Pace.Dial = dial
	c.Plain = func(shell func(context.Context, berth.SandboxRef) (relay.Shell, error)) daytona.Plain {
		return plain.Sandboxes{Installation: installation, Shell: shell}
	}
	return s, open(t, c)
}

func TestWhereNoGuestRunsPlainCommandsKeepTheirStatus(t *testing.T) {
	t.Parallel()
	_, p := guestless(t)
	state := ready(t, p, spec(t))
	if state.Detail != "without a guest: plain commands" {
		t.Errorf("the sandbox is not marked: %+v", state)
	}
	for script, want := range map[string]int{
		"exit 3": 3, "exec false": 1, "set -e; false; echo never": 1, "true": 0, "no-such-program": 127, "set -e; exec bash -c 'exit 9'": 9,
	} {
		id := berth.CommandID("c" + strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, script))
		got := runCommand(t, p, ref(state), berth.CommandSpec{ID: id, Script: script, Env: map[string]string{"A": "a b"}})
		if got.exit.Code != want || got.exit.Reason != berth.ExitExited || strings.Contains(got.stdout, "never") {
			t.Errorf("%s: %+v, want %d", script, got, want)
		}
	}
	got := runCommand(t, p, ref(state), berth.CommandSpec{ID: "bytes", Script: `printf 'a\0b\377'; printf bad >&2`})
	if got.stdout != "a\x00b\xff" || got.stderr != "bad" {
		t.Errorf("bytes: %+v", got)
	}
	slow := runCommand(t, p, ref(state), berth.CommandSpec{ID: "slow", Script: "sleep 601.5", Timeout: time.Second})
	if slow.exit.Reason != berth.ExitTimedOut || len(sandboxtest.Processes("sleep\x00601.5")) > 0 {
		t.Errorf("a timeout: %+v", slow.exit)
	}
	if _, err := p.OpenStream(t.Context(), ref(state), berth.StreamSpec{Kind: berth.StreamShell}); berth.CodeOf(err) != berth.CodeUnsupported {
		t.Errorf("OpenStream: %v, want unsupported", err)
	}
	if err := p.StartCommand(t.Context(), ref(state), berth.CommandSpec{ID: "secret", Script: "true", Mask: []berth.SecretValue{berth.NewSecretValue([]byte("hidden"))}}); berth.CodeOf(err) != berth.CodeUnsupported {
		t.Errorf("a command with a secret: %v, want unsupported", err)
	}
}

func TestASandboxWithoutAGuestStopsAndStarts(t *testing.T) {
	t.Parallel()
	_, p := guestless(t)
	state := ready(t, p, spec(t))
	if _, err := p.WriteFile(t.Context(), ref(state), "kept", strings.NewReader("x\x00y"), 3, 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), ref(state)); err != nil {
		t.Fatal(err)
	}
	if again, err := p.Start(t.Context(), ref(state)); err != nil || again != state {
		t.Fatalf("Start = %+v, %v; want %+v", again, err, state)
	}
	if data, err := p.ReadFile(t.Context(), ref(state), "kept", 0, 0, ""); err != nil || string(data.Data) != "x\x00y" {
		t.Errorf("the file is %q, %v", data.Data, err)
	}
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 || list[0] != state {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := p.Destroy(t.Context(), ref(state)); err != nil {
		t.Error(err)
	}
}

func TestWithoutPlainCommandsASandboxThatTakesNoGuestIsRefused(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{})
	s.Pretend("uname -m; [ -x /bin/bash ] && echo bash", "riscv64\nbash\n")
	state, err := provision(t.Context(), open(t, config(t, s)), spec(t))
	if err != nil || state.Status != berth.SandboxFailed {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	wantIn(t, "reason", state.Reason.Message, "riscv64", "no guest")
	if left := s.Sandboxes(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}
