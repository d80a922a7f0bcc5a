package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

func TestAnEngineThatIsStartedAfterTheServerIsUsed(t *testing.T) {
	image := dockertest.Image(t, dockertest.Debian)
	api := dockertest.Engine(t)
	socket, local := strings.CutPrefix(api.DaemonHost(), "unix://")
	if !local {
		dockertest.Missing(t, "the engine is not at a socket of this machine")
	}
	dir, err := os.MkdirTemp("", "engine") // short: paths of sockets are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	later := filepath.Join(dir, "s")
	t.Setenv(client.EnvOverrideHost, "unix://"+later)
	s := &site{process: startProcess(t, true), settings: map[string]any{"provider": "docker", "image": map[string]any{"docker": image}}}
	installation := s.installation()
	t.Cleanup(func() { dockertest.NoneLeft(t, api, installation) })
	s.create("box", nil)

	_, err = s.CreateRun(t.Context(), s.request("box", "true"))
	if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "the Docker engine does not answer") {
		t.Fatalf("without an engine: %v", err)
	}
	if err := os.Symlink(socket, later); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(startWait); ; time.Sleep(100 * time.Millisecond) {
		created, err := s.CreateRun(t.Context(), s.request("box", "true"))
		if err == nil {
			s.succeed(created.ID)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("with an engine: %v", err)
		}
	}
}
