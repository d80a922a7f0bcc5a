//go:build linux

package docker

import (
	"context"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/volume"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// List returns the sandboxes of this installation, oldest first: those that are
// recorded, and containers that carry its label and are recorded nowhere.
func (p *Provider) List(ctx context.Context) ([]berth.SandboxState, error) {
	p.purge()
	labelled, err := p.labelled(ctx, client.Filters{}.Add("label", labelInstallation+"="+string(p.config.Installation)))
	if err != nil {
		return nil, err
	}
	boxes := p.boxes.All()
	var states []berth.SandboxState
	known := map[berth.SandboxID]bool{}
	for _, b := range boxes {
		b.mu.Lock()
		failed := b.failed != nil
		b.mu.Unlock()
		if state := b.state(); state.Status != berth.SandboxGone && !failed {
			states = append(states, state)
			known[b.id] = true
		}
	}
	for _, c := range labelled {
		id := berth.SandboxID(c.Labels[labelSandbox])
		if known[id] || !berth.IsULID(string(id)) {
			continue
		}
		states = append(states, unrecorded(id, c))
		known[id] = true
	}
	volumes, err := p.volumes(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, v := range volumes {
		id := berth.SandboxID(v.Labels[labelSandbox])
		if known[id] || !berth.IsULID(string(id)) || p.claimed(id) {
			continue
		}
		states = append(states, unrecordedVolume(id, v))
		known[id] = true
	}
	return states, nil
}

// claimed reports whether something is known of a sandbox, such as that it is
// being made or removed.
func (p *Provider) claimed(id berth.SandboxID) bool {
	_, err := p.boxes.Find(id)
	return err == nil
}

// labelled are the containers that filters let through, whatever their state.
func (p *Provider) labelled(ctx context.Context, filters client.Filters) (found []container.Summary, err error) {
	err = p.engine.call(ctx, "listing containers", func(ctx context.Context) error {
		list, err := p.engine.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
		found = list.Items
		return err
	})
	return found, err
}

// unrecorded is the state of a container that only its labels tell of.
func unrecorded(id berth.SandboxID, c container.Summary) berth.SandboxState {
	return berth.SandboxState{
		ID: id, Run: berth.RunID(c.Labels[labelRun]), Status: berth.SandboxFailed, Ref: c.ID, Workspace: Workspace, CreatedAt: time.Unix(c.Created, 0).UTC(),
		Reason: &berth.Reason{Code: berth.ReasonLost, Message: "the sandbox's container is there without a record of it"},
	}
}

// unrecordedVolume is the state of a volume that only its labels tell of, and
// whose container is gone.
func unrecordedVolume(id berth.SandboxID, v volume.Volume) berth.SandboxState {
	made, _ := time.Parse(time.RFC3339, v.CreatedAt) // an engine that does not say is older
	return berth.SandboxState{
		ID: id, Run: berth.RunID(v.Labels[labelRun]), Status: berth.SandboxFailed, Workspace: Workspace, CreatedAt: made.UTC(),
		Reason: &berth.Reason{Code: berth.ReasonLost, Message: "the sandbox's volume is there without a container or a record of it"},
	}
}

// unknown are the containers that carry the labels of a sandbox that is recorded
// nowhere.
func (p *Provider) unknown(ctx context.Context, id berth.SandboxID) ([]container.Summary, error) {
	return p.labelled(ctx, client.Filters{}.Add("label", labelInstallation+"="+string(p.config.Installation), labelSandbox+"="+string(id)))
}

func (p *Provider) describeUnknown(ctx context.Context, id berth.SandboxID) (berth.SandboxState, error) {
	found, err := p.unknown(ctx, id)
	if err != nil {
		return berth.SandboxState{}, err
	}
	if len(found) > 0 {
		return unrecorded(id, found[0]), nil
	}
	volumes, err := p.volumes(ctx, id)
	if err != nil {
		return berth.SandboxState{}, err
	}
	if len(volumes) > 0 {
		return unrecordedVolume(id, volumes[0]), nil
	}
	return berth.SandboxState{ID: id, Status: berth.SandboxGone}, nil
}

func (p *Provider) destroyUnknown(ctx context.Context, id berth.SandboxID) error {
	found, err := p.unknown(ctx, id)
	if err != nil {
		return err
	}
	for _, c := range found {
		if err := p.removeContainer(ctx, c.ID); err != nil {
			return err
		}
	}
	volumes, err := p.volumes(ctx, id)
	if err != nil {
		return err
	}
	for _, v := range volumes {
		if err := p.removeVolume(ctx, v.Name); err != nil {
			return err
		}
	}
	return nil
}
