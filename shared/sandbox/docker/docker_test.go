//go:build linux

package docker_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
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

// newInstallation keeps tests on one engine apart.
func newInstallation() berth.InstallationID {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return berth.InstallationID("test-" + hex.EncodeToString(b[:]))
}

// engine is a client of the tests' own.
func engine(t testing.TB) *client.Client {
	t.Helper()
	api, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	return api
}

// config is for a provider of the test's own.
func config(t testing.TB) docker.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Docker engine; run without -short")
	}
	guest := sandboxtest.BuildGuest(t)
	return docker.Config{
		Root: filepath.Join(t.TempDir(), "sandboxes"), Installation: newInstallation(),
		Guest: func(string) (string, error) { return guest, nil }, Transport: docker.TransportSocket,
	}
}

func open(t testing.TB, config docker.Config) *docker.Provider {
	t.Helper()
	p, err := docker.New(config)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// specOf is a new sandbox of an image.
func specOf(image string) berth.SandboxSpec {
	return berth.SandboxSpec{
		ID: sandboxtest.NewID(), Run: "01arz3ndektsv4rrffq69g5fav",
		Environment: berth.Environment{
			ID: "e", Provider: berth.ProviderDocker, Image: berth.Image{Docker: &image}, Network: berth.Network{Mode: berth.NetworkBlock},
		},
	}
}

func TestDockerKeepsTheContractOfProviders(t *testing.T) {
	for _, image := range []string{dockertest.Debian, dockertest.User, dockertest.Static, dockertest.Entry} {
		t.Run(strings.TrimPrefix(image, "berth-test/"), func(t *testing.T) {
			dockertest.Image(t, image)
			api := engine(t)
			sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture { return fixture(t, api, image) })
		})
	}
}

func fixture(t *testing.T, api *client.Client, image string) sandboxtest.Fixture {
	return fixtureOf(t, api, image, config(t))
}

func fixtureOf(t *testing.T, api *client.Client, image string, config docker.Config) sandboxtest.Fixture {
	t.Cleanup(func() { noneLeft(t, api, config.Installation) })
	present := open(t, config)
	t.Cleanup(func() { present.Close() })
	return sandboxtest.Fixture{
		Provider: present,
		Spec:     func(testing.TB) berth.SandboxSpec { return specOf(image) },
		Reopen: func(sub testing.TB) berth.Provider {
			if err := present.Close(); err != nil {
				sub.Fatal(err)
			}
			var err error
			if present, err = docker.New(config); err != nil {
				sub.Fatal(err)
			}
			return present
		},
		KillGuest: func(t testing.TB, ref berth.SandboxRef) {
			if err := syscall.Kill(guestPID(t, api, ref.ID), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
		Leftovers: func(t testing.TB, id berth.SandboxID) []string {
			left := containers(t, api, "dev.berth.sandbox="+string(id))
			if _, err := os.Stat(filepath.Join(config.Root, string(id))); !os.IsNotExist(err) {
				left = append(left, "its folder")
			}
			return left
		},
		GuestPeakBytes: func(t testing.TB, ref berth.SandboxRef) int64 {
			return sandboxtest.PeakBytes(t, guestPID(t, api, ref.ID))
		},
	}
}

// containers lists the names of containers with a label.
func containers(t testing.TB, api *client.Client, label string) []string {
	t.Helper()
	list, err := api.ContainerList(context.WithoutCancel(t.Context()), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label)})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range list.Items {
		names = append(names, c.Names...)
	}
	return names
}

// noneLeft fails the test when an installation left containers behind, and
// removes them.
func noneLeft(t testing.TB, api *client.Client, id berth.InstallationID) {
	for _, name := range containers(t, api, "dev.berth.installation="+string(id)) {
		t.Errorf("container %s is left", name)
		_, err := api.ContainerRemove(context.WithoutCancel(t.Context()), name, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil {
			t.Error(err)
		}
	}
	volumes, err := api.VolumeList(context.WithoutCancel(t.Context()), client.VolumeListOptions{
		Filters: client.Filters{}.Add("label", "dev.berth.installation="+string(id)),
	})
	if err != nil {
		t.Error(err)
	}
	for _, v := range volumes.Items {
		t.Errorf("volume %s is left", v.Name)
		if _, err := api.VolumeRemove(context.WithoutCancel(t.Context()), v.Name, client.VolumeRemoveOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// transports are both, by the engine of this machine: what the one does not need
// of it does the other no harm.
var transports = []docker.Transport{docker.TransportSocket, docker.TransportAttached}

// over is config for sandboxes that are reached so.
func over(t testing.TB, transport docker.Transport) docker.Config {
	t.Helper()
	config := config(t)
	config.Transport = transport
	return config
}

func guestPID(t testing.TB, api *client.Client, id berth.SandboxID) int {
	t.Helper()
	found, err := api.ContainerInspect(t.Context(), "berth-"+string(id), client.ContainerInspectOptions{})
	if err != nil || found.Container.State.Pid == 0 {
		t.Fatalf("the container's first process: %+v, %v", found.Container.State, err)
	}
	return found.Container.State.Pid
}
