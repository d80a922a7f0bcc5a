package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/sandbox/docker"
)

// engine is the anchor of the docker rows: the Engine API itself, on the same
// image and with the same limits.
type engine struct {
	api   *client.Client
	image string
	// idle is a container that waits, for exec.
	idle string
}

func openEngine(ctx context.Context, image string) (*engine, error) {
	api, err := client.New(client.FromEnv)
	if err != nil {
		return nil, err
	}
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return nil, fmt.Errorf("no engine: %w", err)
	}
	if _, err := api.ImageInspect(ctx, image); err != nil {
		return nil, fmt.Errorf("image %s: %w (scripts/images.sh builds it)", image, err)
	}
	e := &engine{api: api, image: image}
	e.idle, err = e.start(ctx, "sleep", "3600")
	return e, err
}

func (e *engine) close(ctx context.Context) error {
	return errors.Join(e.remove(ctx, e.idle), e.api.Close())
}

func (e *engine) start(ctx context.Context, cmd ...string) (id string, err error) {
	made, err := e.api.ContainerCreate(ctx, client.ContainerCreateOptions{Config: &container.Config{Image: e.image, Cmd: cmd}})
	if err != nil {
		return "", err
	}
	_, err = e.api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{})
	return made.ID, err
}

func (e *engine) remove(ctx context.Context, id string) error {
	_, err := e.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	return err
}

// exec is what `docker exec` asks of the engine: create, attach to the end, and
// ask for the status.
func (e *engine) exec(ctx context.Context) error {
	made, err := e.api.ExecCreate(ctx, e.idle, client.ExecCreateOptions{
		AttachStdout: true, AttachStderr: true, Cmd: []string{"bash", "-c", `exec -- "$@"`, "bash", "true"},
	})
	if err != nil {
		return err
	}
	attached, err := e.api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return err
	}
	defer attached.Close()
	if _, err := io.Copy(io.Discard, attached.Reader); err != nil {
		return err
	}
	ended, err := e.api.ExecInspect(ctx, made.ID, client.ExecInspectOptions{})
	if err == nil && (ended.Running || ended.ExitCode != 0) {
		err = fmt.Errorf("exec: running %t, status %d", ended.Running, ended.ExitCode)
	}
	return err
}

// agent is the docker provider in this process, without a server around it.
type agent struct {
	*docker.Provider
	ids *ids.Source
	env berth.Environment
}

func openAgent(dir, image string) (*agent, error) {
	provider, err := docker.New(docker.Config{
		Root: filepath.Join(dir, "agent"), Installation: "bench",
		Guest: func(arch string) (string, error) { return guestbin.Install(filepath.Join(dir, "guests"), arch) },
	})
	if err != nil {
		return nil, err
	}
	return &agent{provider, ids.New(berth.SystemClock{}), berth.NormalizeEnvironment(berth.Environment{
		ID: "bench", Provider: berth.ProviderDocker, Image: berth.Image{Docker: &image},
	})}, nil
}

// provision makes a sandbox and waits until it is ready.
func (a *agent) provision(ctx context.Context) (berth.SandboxRef, error) {
	id := berth.SandboxID(a.ids.NewID())
	state, err := a.Provision(ctx, berth.SandboxSpec{ID: id, Installation: "bench", Environment: a.env})
	for range 20000 {
		ref := berth.SandboxRef{ID: id, Ref: state.Ref}
		switch {
		case err != nil:
			return ref, err
		case state.Status == berth.SandboxReady:
			return ref, nil
		case state.Status != berth.SandboxCreating:
			return ref, fmt.Errorf("sandbox is %s: %+v", state.Status, state.Reason)
		}
		time.Sleep(time.Millisecond)
		state, err = a.Describe(ctx, ref)
	}
	return berth.SandboxRef{ID: id}, errors.New("sandbox was not ready in time")
}

// command runs `true` and reads to its end.
func (a *agent) command(ctx context.Context, ref berth.SandboxRef) error {
	id := berth.CommandID("c-" + a.ids.NewID())
	if err := a.StartCommand(ctx, ref, berth.CommandSpec{ID: id, Argv: []string{"true"}}); err != nil {
		return err
	}
	for offset := int64(0); ; {
		out, err := a.ReadOutput(ctx, ref, id, offset, berth.MaxOutputRead, 10*time.Second)
		if err != nil {
			return err
		}
		if out.Ended {
			if !out.Exit.Succeeded() {
				return fmt.Errorf("command: %+v", *out.Exit)
			}
			return nil
		}
		offset = out.Next
	}
}

// process runs a program and fails with what it said.
func process(ctx context.Context, name string, args ...string) func() error {
	return func() error {
		out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
		}
		return nil
	}
}
