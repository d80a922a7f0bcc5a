//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/hostagent"
)

// labelPurpose is on what is made for the engine itself, not for a sandbox.
const (
	labelPurpose = "dev.berth.purpose"
	purposeProbe = "probe"
	// probePrefix begins the names of folders of probes.
	probePrefix = "probe-"
)

// answerLimit is how long a guest may take in the probe. One that can answer does
// so in a moment; a busy machine is given time.
const answerLimit = 15 * time.Second

// probeSocket finds out whether a guest in a container can talk to this process
// over a mounted socket: it does what every sandbox would. why says what stands in
// the way, and is empty when nothing does. Errors: unavailable when the engine
// does not answer.
func (p *Provider) probeSocket(ctx context.Context) (why string, err error) {
	p.scratching.Lock()
	defer p.scratching.Unlock()
	defer func() {
		if cleanErr := p.removeProbes(context.WithoutCancel(ctx)); err == nil && cleanErr != nil {
			p.config.Logger.Warn("the probe of the Docker engine is not removed", "error", cleanErr)
		}
	}()
	if err := p.removeProbes(ctx); err != nil { // of a server that died meanwhile
		return "", err
	}
	guest, err := p.guestHere(ctx)
	if err != nil {
		return "", err
	}
	image, err := p.scratch(ctx, guest)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(p.config.Root, probePrefix)
	if err != nil {
		return "", hostagent.DiskError("making the folder of a probe", err)
	}
	defer os.RemoveAll(dir)
	agent, err := hostagent.OpenSandbox(hostagent.SandboxConfig{
		SocketDir: filepath.Join(dir, "link"), SpoolDir: filepath.Join(dir, "spool"), Shared: true, NamesStarts: true, Logger: p.config.Logger,
	})
	if err != nil {
		return "", err
	}
	if err := agent.Listen("probe"); err != nil {
		return "", err
	}
	defer agent.End()
	switch err := p.tryAnswer(ctx, agent, image, guest, filepath.Join(dir, "link")); {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case p.engine.ping(ctx) != nil: // it is the engine that is at fault
		return "", err
	default:
		return reasonOf(err).Message, nil
	}
}

// tryAnswer starts a guest and has it write to a descriptor that it is passed: to
// cancel what was never started leaves a tombstone in the spool.
func (p *Provider) tryAnswer(ctx context.Context, agent *hostagent.Sandbox, image, guest, link string) error {
	id, err := p.makeProbe(ctx, image, guest, link)
	if err != nil {
		return err
	}
	var found container.InspectResponse
	err = p.engine.call(ctx, "starting a probe", func(ctx context.Context) error {
		if _, err := p.engine.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
			return err
		}
		result, err := p.engine.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		found = result.Container
		return err
	})
	if err != nil && berth.CodeOf(err) != berth.CodeNotFound {
		return err
	}
	if err != nil || found.State == nil || found.State.Pid == 0 { // not found is one that has ended and was removed
		return errors.New("a guest in a container ends at once")
	}
	if _, alive := proctree.Read(found.State.Pid); !alive {
		return errors.New("a container's first process is not one of this machine")
	}
	agent.Expect(found.State.Pid)
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if err := agent.Cancel(ctx, "probe"); err != nil {
		return fmt.Errorf("a guest in a container does not answer over a mounted socket: %s", reasonOf(err).Message)
	}
	if state, err := agent.DescribeCommand(ctx, "probe"); err != nil || state.Exit == nil {
		return errors.New("a guest in a container cannot write to a descriptor that it is passed")
	}
	return nil
}

func (p *Provider) makeProbe(ctx context.Context, image, guest, link string) (id string, err error) {
	noInit := false
	options := client.ContainerCreateOptions{
		Config: &container.Config{
			Image: image, User: "0", Cmd: []string{}, Labels: p.probeLabels(),
			Entrypoint: []string{guestTarget, "-init", "-dir", socketTarget, "-workspace", Workspace, "-life", p.probeLife().String()},
		},
		HostConfig: &container.HostConfig{
			NetworkMode: "none", Init: &noInit, AutoRemove: true,
			Mounts: []mount.Mount{
				{Type: mount.TypeBind, Source: link, Target: socketTarget, ReadOnly: true},
				{Type: mount.TypeBind, Source: guest, Target: guestTarget, ReadOnly: true},
			},
		},
	}
	// Not cut short: an engine that goes on alone would leave a container.
	err = p.engine.call(context.WithoutCancel(ctx), "making a probe", func(ctx context.Context) error {
		made, err := p.engine.api.ContainerCreate(ctx, options)
		id = made.ID
		return err
	})
	return id, err
}

// probeLife is after how long a probe ends, and is gone, whose server has died: as
// long as it takes at the longest to look at it and have it answer.
func (p *Provider) probeLife() time.Duration { return p.config.CallTimeout + answerLimit }

func (p *Provider) probeLabels() map[string]string {
	return map[string]string{labelInstallation: string(p.config.Installation), labelPurpose: purposeProbe}
}

// guestHere is the path of the guest for the engine's architecture.
func (p *Provider) guestHere(ctx context.Context) (string, error) {
	arch, err := p.engine.architecture(ctx)
	if err != nil {
		return "", err
	}
	path, err := p.config.Guest(arch)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// removeProbes removes what probes of this installation have left.
func (p *Provider) removeProbes(ctx context.Context) error {
	filters := client.Filters{}.Add("label", labelInstallation+"="+string(p.config.Installation), labelPurpose+"="+purposeProbe)
	found, err := p.labelled(ctx, filters)
	if err != nil {
		return err
	}
	for _, c := range found {
		if err := p.removeContainer(ctx, c.ID); err != nil {
			return err
		}
	}
	if err := p.removeStrays(ctx); err != nil { // they are nobody's who waits for that
		p.config.Logger.Warn("what probes of servers that are no more have left is still there", "error", err)
	}
	return p.removeScratch(ctx)
}
