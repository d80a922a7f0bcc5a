//go:build linux

package docker_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// onEngine is a sandbox on an engine of the test's own, with a counter that runs.
func onEngine(t *testing.T, flags ...string) (*dockertest.Daemon, docker.Config, *box) {
	t.Helper()
	dockertest.Image(t, dockertest.Static)
	e := dockertest.StartDaemon(t, flags...)
	e.Load(t, dockertest.Static)
	config := config(t)
	config.Host = e.Host
	p, err := docker.New(config)
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(dockertest.Static)
	b := &box{Provider: p, t: t, ref: berth.SandboxRef{ID: spec.ID}}
	t.Cleanup(func() {
		if err := b.Destroy(bounded(t), b.ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		b.Provider.Close()
		noneLeft(t, e.Client(t), config.Installation)
	})
	if state := provision(t, p, spec); state.Status != berth.SandboxReady {
		t.Fatalf("provisioning: %+v, %+v", state, state.Reason)
	}
	return e, config, b
}

const longCount = 2000

func startCounting(b *box) berth.CommandID {
	id := b.start(berth.CommandSpec{Script: fmt.Sprintf("for ((i=1; i<=%d; i++)); do echo $i; sleep 0.005; done; exit 9", longCount)})
	b.untilOutput(id)
	return id
}

func TestARunGoesOnWhileAnEngineWithLiveRestoreIsStartedAnew(t *testing.T) {
	t.Parallel()
	e, config, b := onEngine(t, "--live-restore")
	id := startCounting(b)
	e.Stop(t, syscall.SIGTERM)
	// Nothing that a run in progress needs is the engine's.
	if got := b.script("echo without an engine"); got != "without an engine\n" {
		t.Errorf("without an engine: %q", got)
	}
	_, err := b.Provision(bounded(t), specOf(dockertest.Static))
	wantCode(t, "Provision without an engine", err, berth.CodeUnavailable)
	b.reopen(config) // nor does the server, to come back
	if got := b.script("echo still"); got != "still\n" {
		t.Errorf("to the next server without an engine: %q", got)
	}
	e.Start(t)
	text, exit := b.wait(id)
	var want strings.Builder
	for i := range longCount {
		fmt.Fprintln(&want, i+1)
	}
	if text != want.String() || exit.Code != 9 {
		t.Errorf("%d bytes, want %d; %+v", len(text), want.Len(), exit)
	}
	if err := b.Stop(bounded(t), b.ref); err != nil {
		t.Error(err)
	}
	if state, err := b.Start(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
		t.Errorf("Start = %+v, %v", state, err)
	}
}

func TestAnEngineThatIsStoppedWithoutLiveRestoreIsNamed(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			e, config, b := onEngine(t)
			id := startCounting(b)
			began := time.Now()
			e.Stop(t, signal)
			e.Start(t) // which ends what a killed one has left
			text, exit := b.wait(id)
			if exit.Reason != berth.ExitLost || !strings.Contains(exit.Message, "Docker engine was stopped or restarted") || !strings.HasPrefix(text, "1\n") {
				t.Errorf("%d bytes, %+v", len(text), exit)
			}
			if d := time.Since(began); d > time.Minute {
				t.Errorf("it took %v", d)
			}
			state, err := b.Describe(bounded(t), b.ref)
			if err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "engine") {
				t.Errorf("Describe = %+v, %+v, %v", state, state.Reason, err)
			}
			b.reopen(config)
			if state, err := b.Start(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
				t.Errorf("Start = %+v, %+v, %v", state, state.Reason, err)
			}
			if got := b.script("echo alive"); got != "alive\n" {
				t.Errorf("afterwards: %q", got)
			}
		})
	}
}
