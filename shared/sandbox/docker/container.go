//go:build linux

package docker

import (
	"context"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// Labels of everything that is made.
const (
	labelInstallation = "dev.berth.installation"
	labelRun          = "dev.berth.run"
	labelSandbox      = "dev.berth.sandbox"
)

func containerName(id berth.SandboxID) string { return "berth-" + string(id) }

// plan is all that decides a container.
type plan struct {
	spec    berth.SandboxSpec
	image   string
	network string
	binds   []bind
	memory  int64 // bytes; 0 is no limit
	cpu     int   // cores; 0 is no limit
}

// createContainer makes the container of b, or finds the one that an earlier
// server made. It returns its id.
func (b *box) createContainer(ctx context.Context, p plan, image imageInfo, guest string) (string, error) {
	options := client.ContainerCreateOptions{
		Name: containerName(b.id), Config: b.containerConfig(p, image), HostConfig: b.hostConfig(p),
	}
	if args := b.guestArgs(p, image); b.present().attached() {
		b.attach(options.Config, options.HostConfig, args)
	} else {
		b.mountGuest(options.Config, options.HostConfig, guest, args)
	}
	var id string
	// Not cut short by Destroy: an engine that goes on alone would leave a container.
	whole, cancel := b.provider.untilClosed()
	defer cancel()
	err := b.provider.engine.call(whole, "making the container", func(ctx context.Context) error {
		made, err := b.provider.engine.api.ContainerCreate(ctx, options)
		id = made.ID
		return err
	})
	if berth.CodeOf(err) != berth.CodeConflict {
		return id, err
	}
	found, inspectErr := b.inspect(ctx)
	switch {
	case berth.CodeOf(inspectErr) == berth.CodeNotFound: // it is being made, for a server that died meanwhile
		return "", &berth.Error{Code: berth.CodeUnavailable, Message: "the engine is still making the container", Cause: inspectErr}
	case inspectErr != nil:
		return "", inspectErr
	case found.Config == nil || !b.owns(found.Config.Labels):
		return "", berth.Errorf(berth.CodeConflict, "a container named %s is there and is not this installation's", containerName(b.id))
	}
	return found.ID, nil
}

// owns reports whether the labels are those of b.
func (b *box) owns(labels map[string]string) bool {
	return labels[labelInstallation] == string(b.provider.config.Installation) && labels[labelSandbox] == string(b.id)
}

// guestArgs are the guest's, whoever its agent is.
func (b *box) guestArgs(p plan, image imageInfo) []string {
	args := []string{"-workspace", Workspace, "-user", image.user}
	if image.setsHome {
		args = append(args, "-keep-home")
	}
	for _, m := range p.binds {
		if within(m.Target, Workspace) {
			args = append(args, "-keep-owner")
			break
		}
	}
	return args
}

// mountGuest makes a container's configuration that of one whose agent is this
// process.
func (b *box) mountGuest(config *container.Config, host *container.HostConfig, guest string, args []string) {
	config.Entrypoint = append([]string{guestTarget, "-init", "-dir", socketTarget}, args...)
	host.LogConfig = container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "64k", "max-file": "1"}}
	host.Mounts = append([]mount.Mount{
		{Type: mount.TypeBind, Source: b.socketDir(), Target: socketTarget, ReadOnly: true},
		{Type: mount.TypeBind, Source: guest, Target: guestTarget, ReadOnly: true},
	}, host.Mounts...)
}

func (b *box) containerConfig(p plan, image imageInfo) *container.Config {
	stopNow := 0
	return &container.Config{
		Image: p.image,
		// The guest is root; commands run as the image's user.
		User:        "0",
		Cmd:         []string{},
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		// Commands are ended by the guest, on its agent's word. Any other signal
		// could come from inside.
		StopSignal: "SIGKILL", StopTimeout: &stopNow,
		Labels: b.labels(p.spec.Run),
	}
}

func (b *box) hostConfig(p plan) *container.HostConfig {
	config := b.provider.config
	noInit := false // the guest is process 1, also where the engine has an init by default
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(p.network),
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Init:           &noInit,
		ReadonlyRootfs: config.ReadOnlyRoot,
	}
	if p.memory > 0 {
		// The same number for memory and swap together allows no swap: the limit is
		// what the environment says.
		host.Memory, host.MemorySwap = p.memory, p.memory
	}
	if p.cpu > 0 {
		const period = 100_000 // microseconds
		host.CPUPeriod, host.CPUQuota = period, int64(p.cpu)*period
	}
	if config.PIDsLimit > 0 {
		host.PidsLimit = &config.PIDsLimit
	}
	for _, m := range p.binds {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	if config.ReadOnlyRoot {
		host.Mounts = append(host.Mounts, writable(p.binds)...)
	}
	return host
}

// writable is what a read-only container can write to.
func writable(binds []bind) []mount.Mount {
	taken := map[string]bool{}
	for _, m := range binds {
		taken[m.Target] = true
	}
	var mounts []mount.Mount
	if !taken[Workspace] {
		mounts = append(mounts, mount.Mount{Type: mount.TypeVolume, Target: Workspace}) // anonymous: it goes with the container
	}
	if !taken["/tmp"] {
		mounts = append(mounts, mount.Mount{Type: mount.TypeTmpfs, Target: "/tmp", TmpfsOptions: &mount.TmpfsOptions{Mode: 0o1777}})
	}
	return mounts
}

// inspect asks the engine about the container of b. Errors: not_found,
// unavailable.
func (b *box) inspect(ctx context.Context) (found container.InspectResponse, err error) {
	name := b.container()
	err = b.provider.engine.call(ctx, "looking at container "+name, func(ctx context.Context) error {
		result, err := b.provider.engine.api.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
		found = result.Container
		return err
	})
	return found, err
}

// container is what the engine knows it by: its id, or its name before that is
// recorded.
func (b *box) container() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.meta.Container != "" {
		return b.meta.Container
	}
	return containerName(b.id)
}

// hint is the command line that gets a person in.
func hint(m meta, host string) string {
	var s strings.Builder
	s.WriteString("docker")
	if m.attached() && host != client.DefaultDockerHost {
		s.WriteString(" -H " + host)
	}
	s.WriteString(" exec -it")
	if m.UID != 0 || m.GID != 0 {
		s.WriteString(" -u " + strconv.Itoa(m.UID) + ":" + strconv.Itoa(m.GID))
	}
	s.WriteString(" -w " + Workspace + " " + containerName(m.ID) + " bash")
	return s.String()
}
