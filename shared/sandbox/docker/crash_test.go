//go:build linux

package docker_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// TestMain lets this test binary be a server: root, guest, installation, sandbox id,
// transport.
func TestMain(m *testing.M) {
	sandboxtest.Main(m, func(args []string) (berth.Provider, berth.SandboxSpec, error) {
		spec := specOf(dockertest.User)
		spec.ID = berth.SandboxID(args[3])
		p, err := docker.New(docker.Config{
			Root: args[0], Installation: berth.InstallationID(args[2]), Guest: func(string) (string, error) { return args[1], nil },
			Transport: docker.Transport(args[4]),
		})
		return p, spec, err
	})
}

func TestAServerKilledAtAnyMomentLosesNothing(t *testing.T) {
	dockertest.Image(t, dockertest.User)
	const seeds = 28
	for seed := range seeds {
		transport := docker.TransportSocket
		if seed >= 20 {
			transport = docker.TransportAttached
		}
		t.Run(fmt.Sprint(transport, ", seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 0))
			config := over(t, transport)
			spec := specOf(dockertest.User)
			for range 3 {
				// Half of the moments lie in the making of the sandbox.
				early, limit := seed%2 == 0, 1000
				if early {
					limit = 600
				}
				killServer(t, config, spec.ID, early, time.Duration(rnd.IntN(limit))*time.Millisecond)
			}
			p := open(t, config)
			got, err := sandboxtest.Finish(p, spec)
			if err != nil {
				t.Errorf("the last server: %v", err)
			}
			if got != sandboxtest.Counted() {
				t.Errorf("output is not every line once: %q", got)
			}
			if names := containers(t, engine(t), "dev.berth.installation="+string(config.Installation)); len(names) != 1 {
				t.Errorf("containers %v", names)
			}
			if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
				t.Error(err)
			}
			nothingLeft(t, p, config, spec.ID)
		})
	}
}

func killServer(t *testing.T, config docker.Config, id berth.SandboxID, early bool, after time.Duration) {
	t.Helper()
	guest, err := config.Guest("")
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.KillServer(t, early, after, config.Root, guest, string(config.Installation), string(id), string(config.Transport))
}
