package daytona

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// jitter is between three quarters of d and d, so that many do not march in step.
func jitter(d time.Duration) time.Duration { return d - rand.N(d/4+1) }

// owns reports whether s is this installation's sandbox of that id.
func (p *Provider) owns(s daytonaapi.Sandbox, id berth.SandboxID) bool {
	return s.Labels[labelInstallation] == string(p.config.Installation) && s.Labels[labelSandbox] == string(id)
}

func isGone(s daytonaapi.Sandbox) bool {
	return s.State == daytonaapi.Destroyed || s.State == daytonaapi.Destroying || s.DesiredState == "destroyed"
}

// find looks a sandbox up by its names, and then by its ref: a name is free as
// soon as it is deleted. One that carries other labels is not ours. Error:
// not_found, also for one that is going.
func (p *Provider) find(ctx context.Context, ref berth.SandboxRef) (daytonaapi.Sandbox, error) {
	for try := range maxNames {
		s, err := p.client.FindSandbox(ctx, sandboxName(ref.ID, try))
		if isNotFound(err) {
			break // further names are used only where others took the first ones
		}
		if err != nil || p.owns(s, ref.ID) && !isGone(s) {
			return s, err
		}
	}
	if ref.Ref == "" {
		return daytonaapi.Sandbox{}, errNoSandbox
	}
	s, err := p.client.FindSandbox(ctx, ref.Ref)
	switch {
	case err != nil && !isNotFound(err):
		return s, err
	case err != nil || !p.owns(s, ref.ID) || isGone(s):
		return daytonaapi.Sandbox{}, errNoSandbox
	}
	return s, nil
}

var errNoSandbox = berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")

// create asks for the sandbox once; when the answer is lost it is looked for under
// its name.
func (m *making) create(ctx context.Context) (daytonaapi.Sandbox, error) {
	p := m.provider
	m.tell("creating")
	n := m.plan.create
	n.Snapshot = m.plan.snapshot
	began := p.config.Clock.Now()
	try := 0
	for pause := p.config.Pace.Poll; ; pause = min(2*pause, 10*p.config.Pace.Poll) {
		if err := m.wanted(); err != nil {
			return daytonaapi.Sandbox{}, err
		}
		n.Name = sandboxName(m.plan.spec.ID, try)
		s, err := p.client.CreateSandbox(ctx, n)
		if err == nil {
			return s, nil
		}
		code := berth.CodeOf(err)
		if code != berth.CodeConflict && code != berth.CodeUnavailable || ctx.Err() != nil {
			return s, err
		}
		// A name that is taken may be taken by us, by a call whose answer was lost.
		found, lookErr := p.client.FindSandbox(ctx, n.Name)
		switch {
		case lookErr == nil && p.owns(found, m.plan.spec.ID) && !isGone(found):
			return found, nil
		case lookErr == nil && !isGone(found) && code == berth.CodeConflict:
			if try++; try == maxNames {
				return s, berth.Errorf(berth.CodeConflict, "the name %s is taken by a Daytona sandbox that is not ours", n.Name)
			}
		case lookErr != nil && !isNotFound(lookErr):
			return s, lookErr
		}
		if p.config.Clock.Now().Sub(began) > p.config.Pace.Start {
			return s, err
		}
		m.tell("creating: " + reasonOf(err).Message)
		if err := m.pause(ctx, pause); err != nil {
			return s, err
		}
	}
}

// awaitStarted polls until the sandbox has started. Values of the state that are
// not known mean "wait"; which it was is told when the time is up.
func (m *making) awaitStarted(ctx context.Context, s daytonaapi.Sandbox) (daytonaapi.Sandbox, error) {
	p := m.provider
	began := p.config.Clock.Now()
	for pause := p.config.Pace.Poll; ; pause = min(3*pause/2, 10*p.config.Pace.Poll) {
		switch s.State {
		case daytonaapi.Started:
			return s, nil
		case daytonaapi.Failed, daytonaapi.BuildFailed:
			return s, &startFailed{s.State, s.ErrorReason}
		case daytonaapi.Destroyed, daytonaapi.Destroying:
			return s, unfitf(berth.ReasonLost, "", "the Daytona sandbox was deleted while it was being made")
		case daytonaapi.Stopped, daytonaapi.Archived:
			if s.DesiredState == "stopped" || s.DesiredState == "archived" {
				if err := p.client.StartSandbox(ctx, s.ID); err != nil {
					return s, err
				}
			}
		}
		m.tell("Daytona says " + string(s.State))
		if p.config.Clock.Now().Sub(began) > p.config.Pace.Start {
			return s, unfitf(berth.ReasonProvisionFailed, "", notStarted(s, p.config.Pace.Start))
		}
		if err := m.pause(ctx, pause); err != nil {
			return s, err
		}
		fresh, err := p.client.FindSandbox(ctx, s.ID)
		switch {
		case err == nil:
			s = fresh
		case !isNotFound(err):
			return s, err
		default: // just created, and the answer lags behind; or deleted
			s.State = "missing"
		}
	}
}

func notStarted(s daytonaapi.Sandbox, limit time.Duration) string {
	message := "the Daytona sandbox has not started in " + limit.String() + ": its state is " + string(s.State)
	if !s.State.Known() {
		message += ", which this berth does not know"
	}
	return message
}
