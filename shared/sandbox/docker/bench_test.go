//go:build linux

package docker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func benchBox(b *testing.B) *box {
	b.Helper()
	x := sandbox(b, config(b), specOf(dockertest.Debian))
	b.ResetTimer()
	return x
}

func BenchmarkCommandTrue(b *testing.B) {
	x := benchBox(b)
	for b.Loop() {
		x.wait(x.start(berth.CommandSpec{Argv: []string{"true"}}))
	}
}

// BenchmarkEngineExecTrue is the same through the Engine API.
func BenchmarkEngineExecTrue(b *testing.B) {
	x := benchBox(b)
	api := engine(b)
	ctx := b.Context()
	for b.Loop() {
		made, err := api.ExecCreate(ctx, containerOf(x.ref), client.ExecCreateOptions{Cmd: []string{"true"}, AttachStdout: true, AttachStderr: true})
		if err != nil {
			b.Fatal(err)
		}
		attached, err := api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := attached.Reader.WriteTo(discard{}); err != nil {
			b.Fatal(err)
		}
		attached.Close()
		if found, err := api.ExecInspect(ctx, made.ID, client.ExecInspectOptions{}); err != nil || found.ExitCode != 0 {
			b.Fatal(found, err)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkSandbox(b *testing.B) {
	dockertest.Image(b, dockertest.Debian)
	p, err := docker.New(config(b))
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	ctx := b.Context()
	var made, destroyed time.Duration
	for b.Loop() {
		spec := specOf(dockertest.Debian)
		began := time.Now()
		if state, err := p.Provision(ctx, spec); err != nil || state.Status != berth.SandboxReady {
			b.Fatal(state, err)
		}
		ready := time.Now()
		if err := p.Destroy(ctx, berth.SandboxRef{ID: spec.ID}); err != nil {
			b.Fatal(err)
		}
		made, destroyed = made+ready.Sub(began), destroyed+time.Since(ready)
	}
	b.ReportMetric(float64(made.Milliseconds())/float64(b.N), "ms/made")
	b.ReportMetric(float64(destroyed.Milliseconds())/float64(b.N), "ms/destroyed")
}

// BenchmarkEngineContainer is the same through the Engine API: made, started,
// removed.
func BenchmarkEngineContainer(b *testing.B) {
	image := dockertest.Image(b, dockertest.Debian)
	api := engine(b)
	ctx := b.Context()
	var made, destroyed time.Duration
	for n := 0; b.Loop(); n++ {
		began := time.Now()
		options := client.ContainerCreateOptions{Image: image, Name: fmt.Sprintf("berth-bench-%s-%d", sandboxtest.NewID(), n)}
		options.Config, options.HostConfig = sleeping()
		container, err := api.ContainerCreate(ctx, options)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := api.ContainerStart(ctx, container.ID, client.ContainerStartOptions{}); err != nil {
			b.Fatal(err)
		}
		ready := time.Now()
		if _, err := api.ContainerRemove(ctx, container.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			b.Fatal(err)
		}
		made, destroyed = made+ready.Sub(began), destroyed+time.Since(ready)
	}
	b.ReportMetric(float64(made.Milliseconds())/float64(b.N), "ms/made")
	b.ReportMetric(float64(destroyed.Milliseconds())/float64(b.N), "ms/destroyed")
}

func sleeping() (*container.Config, *container.HostConfig) {
	return &container.Config{Cmd: []string{"sleep", "600"}}, &container.HostConfig{NetworkMode: "none"}
}
