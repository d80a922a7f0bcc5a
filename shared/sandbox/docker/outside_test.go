//go:build linux

package docker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

func TestAnEngineBehindAConnectionThatGoesSilentIsToldAndComesBack(t *testing.T) {
	t.Parallel()
	e := farEngine(t, dockertest.Static)
	p := startProxy(t, e.Host, "")
	config := farConfig(t, e)
	config.Host, config.CallTimeout = "tcp://"+p.Addr().String(), 10*time.Second
	b := farSandbox(t, config, specOf(dockertest.Static))
	id := startCounting(b)
	p.freeze(true)
	// The callers have all the time of the world.
	described, listed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := b.DescribeCommand(context.Background(), b.ref, "c-none")
		described <- err
	}()
	go func() {
		_, err := b.List(context.Background())
		listed <- err
	}()
	limit := time.After(3 * time.Minute)
	for what, answer := range map[string]chan error{"DescribeCommand": described, "List": listed} {
		select {
		case err := <-answer:
			if code := berth.CodeOf(err); code != berth.CodeUnavailable && code != berth.CodeTimedOut {
				t.Errorf("%s: %v", what, err)
			}
		case <-limit:
			t.Fatalf("%s waits for ever", what)
		}
	}
	p.freeze(false)
	eventually(t, "it is reached again", func() bool {
		_, err := b.DescribeCommand(bounded(t), b.ref, id)
		return err == nil
	})
	wantCounted(t, b, id)
}

func TestASandboxThatIsPausedFromOutsideIsSilentAndGoesOn(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			b := sandbox(t, over(t, transport), specOf(dockertest.Static))
			id := startCounting(b)
			if _, err := engine(t).ContainerPause(bounded(t), containerOf(b.ref), client.ContainerPauseOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			if state, err := b.Describe(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
				t.Errorf("while it is paused: %+v, %v", state, err)
			}
			if _, err := engine(t).ContainerUnpause(bounded(t), containerOf(b.ref), client.ContainerUnpauseOptions{}); err != nil {
				t.Fatal(err)
			}
			wantCounted(t, b, id)
		})
	}
}

func TestASandboxThatIsRestartedFromOutsideHasLostItsCommands(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			b := sandbox(t, over(t, transport), specOf(dockertest.Static))
			id := startCounting(b)
			if _, err := engine(t).ContainerRestart(bounded(t), containerOf(b.ref), client.ContainerRestartOptions{}); err != nil {
				t.Fatal(err)
			}
			text, exit := b.wait(id)
			if exit.Reason != berth.ExitLost || !strings.HasPrefix(text, "1\n") {
				t.Errorf("%d bytes, %+v", len(text), exit)
			}
			eventually(t, "the sandbox is told as failed", func() bool {
				state, err := b.Describe(bounded(t), b.ref)
				return err == nil && state.Status == berth.SandboxFailed
			})
			if state, err := b.Start(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
				t.Fatalf("Start = %+v, %+v, %v", state, state.Reason, err)
			}
			if got := b.script("echo alive"); got != "alive\n" {
				t.Errorf("afterwards: %q", got)
			}
			if again, exit := b.wait(id); again != text || exit.Reason != berth.ExitLost {
				t.Errorf("after a new start: %d bytes, %+v", len(again), exit)
			}
		})
	}
}

func TestAnEngineWithUserNamespacesHoldsSandboxes(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]docker.Transport{
		"over a socket": docker.TransportSocket, "over attached streams": docker.TransportAttached, "as the probe finds": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dockertest.Image(t, dockertest.User)
			e := dockertest.StartRemappedDaemon(t)
			e.Load(t, dockertest.User)
			config := over(t, transport)
			config.Host = e.Host
			b := farSandbox(t, config, specOf(dockertest.User))
			if got := b.script("echo works; touch made && ls"); got != "works\nmade\n" {
				t.Errorf("it says %q", got)
			}
		})
	}
}
