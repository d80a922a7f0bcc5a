//go:build linux

package docker_test

import (
	"testing"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// farEngine is an engine of the test's own that does not see its folders.
func farEngine(t testing.TB, images ...string) *dockertest.Daemon {
	t.Helper()
	for _, image := range images {
		dockertest.Image(t, image)
	}
	if testing.Short() {
		t.Skip("needs a Docker engine; run without -short")
	}
	e := dockertest.StartFarDaemon(t)
	for _, image := range images {
		e.Load(t, image)
	}
	return e
}

// farConfig is for a provider of that engine.
func farConfig(t testing.TB, e *dockertest.Daemon) docker.Config {
	t.Helper()
	config := config(t)
	config.Host, config.Transport = e.Host, docker.TransportAttached
	return config
}

func TestDockerKeepsTheContractOfProvidersOverAttachedStreams(t *testing.T) {
	for name, image := range map[string]string{"debian": dockertest.Debian, "user": dockertest.User} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := farEngine(t, image)
			api := e.Client(t)
			sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture {
				f := fixtureOf(t, api, image, farConfig(t, e))
				left := f.Leftovers
				f.Leftovers = func(t testing.TB, id berth.SandboxID) []string {
					return append(left(t, id), farVolumes(t, api, "dev.berth.sandbox="+string(id))...)
				}
				return f
			})
		})
	}
}

func farVolumes(t testing.TB, api *client.Client, label string) []string {
	t.Helper()
	list, err := api.VolumeList(t.Context(), client.VolumeListOptions{Filters: client.Filters{}.Add("label", label)})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range list.Items {
		names = append(names, "volume "+v.Name)
	}
	return names
}
