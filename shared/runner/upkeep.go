package runner

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// The optional powers of a provider that the sweeper uses, found by assertion.
type (
	// Keeper puts off the end of an idle sandbox whose run lives: a run that waits
	// for somebody leaves it alone for long.
	Keeper interface {
		KeepAlive(ctx context.Context, ref berth.SandboxRef) error
	}
	// Cleaner removes what provisions left behind beside sandboxes, of its own
	// installation only.
	Cleaner interface {
		CleanUp(ctx context.Context) error
	}
)

// keepAlive tells the provider that the sandbox of a live run is wanted. One that
// outlives its run may stop when it is idle.
func (r *Runner) keepAlive(ctx context.Context, provider berth.Provider, run berth.RunID, state berth.SandboxState) error {
	k, ok := provider.(Keeper)
	if !ok || run == "" || state.Status != berth.SandboxReady {
		return nil
	}
	if _, live, err := r.findLive(ctx, run); err != nil || !live {
		return err
	}
	return berth.Wrap(k.KeepAlive(ctx, berth.SandboxRef{ID: state.ID, Ref: state.Ref}), "keeping it alive")
}

func cleanUp(ctx context.Context, provider berth.Provider) error {
	if c, ok := provider.(Cleaner); ok {
		return berth.Wrap(c.CleanUp(ctx), "cleaning up after "+string(provider.Kind()))
	}
	return nil
}
