package daytona

import (
	"context"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

const (
	// maxBuilds is how often one run builds a snapshot: downloads fail now and then.
	maxBuilds = 2
	logTail   = 2 << 10 // bytes of a failed build's log that are told
)

// readySnapshot returns when the plan's snapshot is active. One with a Dockerfile
// is built when it is not there; two runs that race for it wait for the same one.
func (m *making) readySnapshot(ctx context.Context) error {
	p := m.provider
	began := p.config.Clock.Now()
	poll := 10 * p.config.Pace.Poll
	activated := false
	for pause := poll; ; pause = min(3*pause/2, 15*poll) {
		s, err := p.client.FindSnapshot(ctx, m.plan.snapshot)
		switch {
		case isNotFound(err) && m.plan.build == nil:
			return unfitf(berth.ReasonProvisionFailed, "Name a snapshot that Daytona has, or set image.dockerfile.",
				"Daytona has no snapshot "+m.plan.snapshot)
		case isNotFound(err):
			s, err = m.buildSnapshot(ctx)
		}
		if err != nil {
			return err
		}
		switch s.State {
		case daytonaapi.SnapshotActive:
			return nil
		case daytonaapi.SnapshotInactive:
			if !activated {
				activated = true
				if err := m.activate(ctx, s); err != nil {
					return err
				}
			}
		case daytonaapi.SnapshotFailed, daytonaapi.SnapshotBuildFailed:
			if err := m.afterFailedBuild(ctx, s); err != nil {
				return err
			}
			pause = poll
		}
		m.tell("snapshot " + s.Name + " is " + string(s.State))
		if since := m.buildBegan(s, began); p.config.Clock.Now().Sub(since) > p.config.Pace.Snapshot {
			// It is left as it is: it may become active, and the next run finds it.
			return unfitf(berth.ReasonProvisionFailed, "Start the run again when the snapshot is active in Daytona's dashboard.",
				notActive(s, p.config.Pace.Snapshot))
		}
		if err := m.pause(ctx, pause); err != nil {
			return err
		}
	}
}

func notActive(s daytonaapi.Snapshot, limit time.Duration) string {
	message := "Daytona's snapshot " + s.Name + " is not active after " + limit.String() + ": its state is " + string(s.State)
	if !s.State.Known() {
		message += ", which this berth does not know"
	}
	return message
}

// buildBegan is since when this run waits for s, also over the processes that
// made the sandbox before this one: since the sandbox was recorded, or the
// snapshot was created or, if it is old, last changed.
func (m *making) buildBegan(s daytonaapi.Snapshot, began time.Time) time.Time {
	since := later(recordedAt(m.plan.spec.ID), s.CreatedAt)
	if s.UpdatedAt.Sub(s.CreatedAt) > time.Hour {
		since = later(since, s.UpdatedAt)
	}
	if since.After(began) {
		return began // whatever its clock says
	}
	return since
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// recordedAt is the time in the sandbox's id.
func recordedAt(id berth.SandboxID) time.Time {
	u, err := ulid.ParseStrict(strings.ToUpper(string(id)))
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(u.Time())
}

// buildSnapshot asks for the build once. That somebody else did, or that the
// answer was lost, is found out by the next look.
func (m *making) buildSnapshot(ctx context.Context) (daytonaapi.Snapshot, error) {
	if err := m.wanted(); err != nil {
		return daytonaapi.Snapshot{}, err
	}
	b := m.plan.build
	n := daytonaapi.NewSnapshot{Name: m.plan.snapshot, CPU: b.cpu, Memory: b.memory, Disk: b.disk, RegionID: b.target}
	n.BuildInfo.Dockerfile = b.dockerfile
	m.asksBuild = true
	s, err := m.provider.client.CreateSnapshot(ctx, n)
	switch berth.CodeOf(err) {
	case berth.CodeConflict, berth.CodeUnavailable:
		if ctx.Err() != nil {
			return s, err
		}
		return daytonaapi.Snapshot{Name: m.plan.snapshot, State: "pending", CreatedAt: m.provider.config.Clock.Now()}, nil
	}
	return s, err
}

// activate asks for it once; a refusal may mean that somebody else did.
func (m *making) activate(ctx context.Context, s daytonaapi.Snapshot) error {
	err := m.provider.client.ActivateSnapshot(ctx, s.ID)
	switch berth.CodeOf(err) {
	case berth.CodeInvalid, berth.CodeConflict:
		m.provider.config.Logger.Info("a snapshot is not activated by us", "snapshot", s.Name, "error", err)
		return nil
	}
	return err
}

// afterFailedBuild removes a failed build of ours, so that its name is free: what
// an earlier run left is built anew, and so is what failed once for this one.
func (m *making) afterFailedBuild(ctx context.Context, s daytonaapi.Snapshot) error {
	p := m.provider
	if m.plan.build == nil {
		return unfitf(berth.ReasonProvisionFailed, "", describeFailed(s, ""))
	}
	// It failed for somebody else; what comes after our own question did not, whatever
	// Daytona's clock says.
	before := !m.asksBuild && s.CreatedAt.Before(recordedAt(m.plan.spec.ID))
	if !before {
		m.builds++
	}
	log := ""
	if m.builds >= maxBuilds {
		var err error
		if log, err = p.client.SnapshotBuildLogs(ctx, s.ID, logTail); err != nil {
			p.config.Logger.Info("the log of a failed build is not to be had", "snapshot", s.Name, "error", err)
		}
	}
	if err := p.client.DeleteSnapshot(ctx, s.ID); err != nil && !isNotFound(err) {
		return berth.Wrap(err, "removing the failed snapshot "+s.Name)
	}
	if m.builds >= maxBuilds {
		return unfitf(berth.ReasonProvisionFailed, "Correct image.dockerfile.", describeFailed(s, log))
	}
	m.tell("building again: " + describeFailed(s, ""))
	return nil
}

func describeFailed(s daytonaapi.Snapshot, log string) string {
	message := "Daytona's snapshot " + s.Name + " is in state " + string(s.State)
	if s.ErrorReason != "" {
		message += ": " + s.ErrorReason
	}
	if log = strings.TrimSpace(log); log != "" {
		message += "\n" + log
	}
	return message
}

// CleanUp removes what failed builds left behind. Sandboxes are the sweeper's own
// business, by List and Destroy.
func (p *Provider) CleanUp(ctx context.Context) error {
	if _, err := p.config.Key(ctx); berth.CodeOf(err) == berth.CodeUnsupported {
		return nil // without a key nothing was made
	}
	all, err := p.client.ListSnapshots(ctx, snapshotPrefix(p.config.Installation))
	if err != nil {
		return berth.Wrap(err, "listing Daytona's snapshots")
	}
	for _, s := range all {
		failed := s.State == daytonaapi.SnapshotFailed || s.State == daytonaapi.SnapshotBuildFailed
		if !failed || !isOurSnapshot(p.config.Installation, s.Name) {
			continue
		}
		if err := p.client.DeleteSnapshot(ctx, s.ID); err != nil && !isNotFound(err) {
			return berth.Wrap(err, "removing the failed snapshot "+s.Name)
		}
	}
	return nil
}
