package httpapi

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
)

// SandboxParams name a sandbox.
type SandboxParams struct {
	ID string `path:"id" doc:"Sandbox id, or its first 6 characters or more when no other begins so" example:"01jd3v6d1b7k2n4p6r8t0v2x4z"`
}

// ForcedSandboxParams name a sandbox that is to go, whatever its provider says.
type ForcedSandboxParams struct {
	SandboxParams
	Force string `query:"force" doc:"true forgets it where its provider does not destroy it: its reason says then what may be left and where" example:"true"`
}

// sandbox finds the record. Errors: invalid, not_found, conflict with the candidates.
func (a *API) sandbox(ctx context.Context, in SandboxParams) (berth.Sandbox, error) {
	id, err := a.cfg.Records.ResolveSandbox(ctx, in.ID)
	if err != nil {
		return berth.Sandbox{}, at("path.id", err)
	}
	sb, err := a.cfg.Records.FindSandbox(ctx, id)
	if err != nil {
		return sb, at("path.id", err)
	}
	return sb, nil
}

func sandboxOperations() []operation {
	conflict := []berth.Code{berth.CodeConflict, berth.CodeUnsupported, berth.CodeTimedOut}
	return []operation{
		op("list-sandboxes", spec{summary: "List sandboxes", description: "Oldest first."}, (*API).listSandboxes),
		op("find-sandbox", spec{summary: "Show a sandbox", codes: conflict[:1]}, (*API).findSandbox),
		op("destroy-sandbox", spec{summary: "Destroy a sandbox", description: "Nothing of it is left, unless it is forced. One that a live run uses is a conflict.", codes: conflict}, (*API).destroySandbox),
		op("stop-sandbox", spec{summary: "Stop a sandbox", description: "Ends its commands and keeps its files.", codes: conflict}, (*API).stopSandbox),
		op("start-sandbox", spec{summary: "Start a stopped sandbox", codes: conflict}, (*API).startSandbox),
	}
}

func (a *API) listSandboxes(ctx context.Context, in *PageParams) (*body[berth.List[berth.Sandbox]], error) {
	return listPage(ctx, *in, a.cfg.Records.ListSandboxes)
}

func (a *API) findSandbox(ctx context.Context, in *SandboxParams) (*body[berth.Sandbox], error) {
	sb, err := a.sandbox(ctx, *in)
	return &body[berth.Sandbox]{sb}, err
}

func (a *API) destroySandbox(ctx context.Context, in *ForcedSandboxParams) (*empty, error) {
	switch in.Force {
	case "", "true", "false":
	default:
		return nil, berth.FieldErrorf(berth.CodeInvalid, "query.force", "must be true or false")
	}
	sb, err := a.sandbox(ctx, in.SandboxParams)
	if err != nil {
		return nil, err
	}
	if in.Force == "true" {
		return nil, a.cfg.Plane.ForgetSandbox(ctx, sb.ID)
	}
	return nil, a.cfg.Plane.DestroySandbox(ctx, sb.ID)
}

func (a *API) stopSandbox(ctx context.Context, in *SandboxParams) (*body[berth.Sandbox], error) {
	return a.changeSandbox(ctx, in, a.cfg.Plane.StopSandbox)
}

func (a *API) startSandbox(ctx context.Context, in *SandboxParams) (*body[berth.Sandbox], error) {
	return a.changeSandbox(ctx, in, a.cfg.Plane.StartSandbox)
}

func (a *API) changeSandbox(ctx context.Context, in *SandboxParams, change func(context.Context, berth.SandboxID) (berth.Sandbox, error)) (*body[berth.Sandbox], error) {
	sb, err := a.sandbox(ctx, *in)
	if err == nil {
		sb, err = change(ctx, sb.ID)
	}
	return &body[berth.Sandbox]{sb}, err
}
