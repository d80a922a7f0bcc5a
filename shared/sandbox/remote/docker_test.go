//go:build linux

package remote_test

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestRemoteKeepsTheContractOnDocker(t *testing.T) {
	t.Parallel()
	for _, image := range []string{dockertest.Debian, dockertest.User, dockertest.Static, dockertest.Entry} {
		t.Run(strings.TrimPrefix(image, "berth-test/"), func(t *testing.T) {
			dockertest.Image(t, image)
			guest := sandboxtest.BuildGuest(t)
			api, err := client.New(client.FromEnv)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { api.Close() })
			sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture { return onDocker(t, api, guest, image) })
		})
	}
}

func onDocker(t *testing.T, api *client.Client, guest, image string) sandboxtest.Fixture {
	// The engine is everybody's, and this test may run twice at a time.
	labels := berth.InstallationID("remote-" + strings.ToLower(rand.Text()))
	a := startAgent(t, func(root string) (closer, error) {
		return docker.New(docker.Config{Root: root, Installation: labels, Guest: func(string) (string, error) { return guest, nil }})
	})
	p := connect(t, a.config())
	return sandboxtest.Fixture{
		Provider: p,
		Spec: func(t testing.TB) berth.SandboxSpec {
			s := spec(t)
			s.Environment = berth.Environment{
				ID: "e", Provider: berth.ProviderDocker, Image: berth.Image{Docker: &image}, Network: berth.Network{Mode: berth.NetworkBlock},
			}
			return s
		},
		Reopen: func(sub testing.TB) berth.Provider {
			a.stop()
			a.start(sub)
			return p
		},
		KillGuest: func(t testing.TB, ref berth.SandboxRef) {
			found, err := api.ContainerInspect(t.Context(), ref.Ref, client.ContainerInspectOptions{})
			if err != nil || found.Container.State.Pid == 0 {
				t.Fatalf("the container's first process: %+v, %v", found.Container.State, err)
			}
			if err := syscall.Kill(found.Container.State.Pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
		Leftovers: func(t testing.TB, id berth.SandboxID) []string {
			list, err := api.ContainerList(context.WithoutCancel(t.Context()), client.ContainerListOptions{
				All: true, Filters: client.Filters{}.Add("name", string(id)),
			})
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, c := range list.Items {
				left = append(left, c.Names...)
			}
			if _, err := os.Stat(filepath.Join(a.root, string(id))); !os.IsNotExist(err) {
				left = append(left, "its folder")
			}
			return left
		},
	}
}
