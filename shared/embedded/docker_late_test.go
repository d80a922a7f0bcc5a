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

func TestAServerThatEndsAsItStartsLeavesNothingOfItsProbe(t *testing.T) {
	dockertest.Image(t, dockertest.Static)
	api := dockertest.Engine(t)
	for _, after := range []time.Duration{0, 30 * time.Millisecond, 100 * time.Millisecond} {
		p := startProcess(t, true)
		installation := p.installation()
		time.Sleep(after)
		p.stop()
		dockertest.NoneLeft(t, api, installation)
		images, err := api.ImageList(t.Context(), client.ImageListOptions{
			All: true, Filters: client.Filters{}.Add("label", "dev.berth.installation="+string(installation)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, image := range images.Items {
			t.Errorf("ended after %s, it left the image %v", after, image.RepoTags)
		}
	}
}
