//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/remote"
)

const lines = 400

var counter = fmt.Sprintf("for i in {1..%d}; do echo $i; read -t 0.002 <> <(:); done; exit 9", lines)

func wantLines() string {
	var want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, i+1)
	}
	return want.String()
}

// whatWasRead is the end of a follow.
type whatWasRead struct {
	text string
	exit berth.Exit
	err  error
}

func inBackground(t *testing.T, p *remote.Provider, ref berth.SandboxRef, id berth.CommandID) chan whatWasRead {
	done := make(chan whatWasRead, 1)
	go func() {
		var text strings.Builder
		exit, err := follow(t.Context(), p, ref, id, func(b []byte) { text.Write(b) })
		done <- whatWasRead{text.String(), exit, err}
	}()
	return done
}

func TestAnAgentKilledAtAnyMomentLosesNothing(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		killAtMoments(t, berth.ProviderLocal)
	})
	t.Run("docker", func(t *testing.T) {
		t.Parallel()
		dockertest.Image(t, dockertest.Static)
		killAtMoments(t, berth.ProviderDocker)
	})
}

func killAtMoments(t *testing.T, kind berth.ProviderKind) {
	moments := 20
	if testing.Short() {
		moments = 4
	}
	agent := startProcess(t, kind)
	p := agent.connect(t)
	ref := ready(t, p)
	random := rand.New(rand.NewPCG(2, 71))
	for moment := range moments {
		id := berth.CommandID(fmt.Sprint("counter-", moment))
		spec := berth.CommandSpec{ID: id, Script: counter}
		after := []time.Duration{time.Duration(random.IntN(700_000)) * time.Microsecond, time.Duration(random.IntN(300_000)) * time.Microsecond}
		// A start that the agent dies under is sent again by the client or by whoever
		// called it.
		started := make(chan error, 1)
		go func() {
			for {
				err := p.StartCommand(t.Context(), ref, spec)
				if berth.CodeOf(err) != berth.CodeUnavailable {
					started <- err
					return
				}
			}
		}()
		if moment%2 == 0 {
			if err := <-started; err != nil {
				t.Fatal(err)
			}
		} else {
			after[0] /= 100
		}
		var read chan whatWasRead
		if moment%2 == 0 {
			read = inBackground(t, p, ref, id)
		}
		for _, pause := range after {
			time.Sleep(pause)
			agent.kill()
			agent.start(t)
		}
		if read == nil {
			if err := <-started; err != nil {
				t.Fatal(err)
			}
			read = inBackground(t, p, ref, id)
		}
		got := <-read
		if got.err != nil || got.exit.Code != 9 || got.exit.Reason != berth.ExitExited || got.text != wantLines() {
			t.Fatalf("moment %d, killed after %v: %+v, %v and\n%s", moment, after, got.exit, got.err, got.text)
		}
	}
}

func TestAnAgentThatEndsLeavesItsSandboxesAndTakesThemUpAgain(t *testing.T) {
	t.Parallel()
	agent := startProcess(t, berth.ProviderLocal)
	p := agent.connect(t)
	ref := ready(t, p)
	before, err := p.Describe(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: counter}); err != nil {
		t.Fatal(err)
	}
	read := inBackground(t, p, ref, "c")
	for range 3 {
		began := time.Now()
		if status := agent.end(t); status != 0 {
			t.Errorf("the agent ended with %d: %s", status, &agent.stderr)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("the agent took %s to end while somebody polls", took)
		}
		agent.start(t)
	}
	if got := <-read; got.err != nil || got.exit.Code != 9 || got.text != wantLines() {
		t.Errorf("%+v, %v and\n%s", got.exit, got.err, got.text)
	}
	after, err := p.List(t.Context())
	if err != nil || len(after) != 1 || after[0] != before {
		t.Errorf("List = %+v, %v; want %+v", after, err, before)
	}
}

const (
	volume      = 100 << 20
	residentCap = 64 << 20
)

func TestAHundredMegabytesPassInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 100 MB twice")
	}
	agent := startProcess(t, berth.ProviderLocal)
	p := agent.connect(t)
	ref := ready(t, p)
	script := fmt.Sprintf(`yes 'a line of output with é and 😀 in it' | head -c %d`, volume)
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "sum", Script: script + " | sha256sum"}); err != nil {
		t.Fatal(err)
	}
	sum := <-inBackground(t, p, ref, "sum")
	if sum.err != nil || len(sum.text) < 64 {
		t.Fatalf("%+v", sum)
	}
	want := fmt.Sprint(sum.text[:64], " ", volume)
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: script}); err != nil {
		t.Fatal(err)
	}
	for _, reader := range []string{"first", "late"} {
		cmd := exec.CommandContext(t.Context(), agent.cmd.Path)
		cmd.Env = append(cmd.Environ(), readerEnv+"="+strings.Join([]string{string(agent.dir), agent.url, string(installation), string(ref.ID), "c"}, "|"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s reader: %v", reader, err)
		}
		var hash string
		var n, peak int64
		if _, err := fmt.Sscan(string(out), &hash, &n, &peak); err != nil {
			t.Fatalf("%s reader: %q, %v", reader, out, err)
		}
		if got := fmt.Sprint(hash, " ", n); got != want {
			t.Errorf("%s reader got %s, want %s", reader, got, want)
		}
		if peak > residentCap {
			t.Errorf("the %s reader had %d MiB resident", reader, peak>>20)
		}
		t.Logf("the %s reader had %d MiB resident", reader, peak>>20)
	}
	peak, err := peakBytes(agent.cmd.Process.Pid)
	if err != nil || peak > residentCap {
		t.Errorf("the agent had %d MiB resident, %v", peak>>20, err)
	}
	t.Logf("the agent had %d MiB resident", peak>>20)
}
