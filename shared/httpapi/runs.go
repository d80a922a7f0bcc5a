package httpapi

import (
	"context"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
)

// RunParams name a run.
type RunParams struct {
	ID string `path:"id" doc:"Run id, or its first 6 characters or more when no other begins so" example:"01jd3v6d0x2m5p8q9r7s4t1v0w"`
}

// run resolves the id. Errors: invalid, not_found, conflict with the candidates.
func (a *API) run(ctx context.Context, in RunParams) (berth.RunID, error) {
	id, err := a.cfg.Records.ResolveRun(ctx, in.ID)
	if err != nil {
		return "", at("path.id", err)
	}
	return id, nil
}

var runExample = map[string]any{
	"environment": "ci", "command": []string{"go", "test", "./..."},
	"target":  map[string]any{"kind": "git", "origin": "https://github.com/octocat/hello.git", "branch": "main"},
	"timeout": "10m", "labels": map[string]any{"team": "infra"},
}

func runOperations() []operation {
	submit := []berth.Code{berth.CodeUnsupported, berth.CodeNotFound, berth.CodeConflict, berth.CodeTooLarge}
	ambiguous := []berth.Code{berth.CodeConflict}
	return []operation{
		op("list-runs", spec{summary: "List runs", description: "Newest first. A run that was created this moment may be missing."}, (*API).listRuns),
		op("create-run", spec{
			summary: "Submit a run", description: "Resolves the environment and target, records the run and starts it.",
			status: 201, takes: berth.RunRequest{}, example: runExample, codes: submit,
		}, (*API).createRun),
		op("preflight-run", spec{
			summary: "Check a run without starting it", description: "The same rules as for a run; what is wrong is in the report's checks.",
			takes: berth.RunRequest{}, example: runExample, codes: submit,
		}, (*API).preflightRun),
		op("find-run", spec{summary: "Show a run", codes: ambiguous}, (*API).findRun),
		op("delete-run", spec{summary: "Delete an ended run", description: "With its events, its logs and its sandbox, also one that was kept. A live run is a conflict.", codes: ambiguous}, (*API).deleteRun),
		op("cancel-run", spec{
			summary: "Cancel a run", description: "Asks for its end; the run ends as cancelled soon after. A run that has ended is a conflict.",
			status: 202, codes: ambiguous,
		}, (*API).cancelRun),
		op("list-run-stages", spec{summary: "List a run's stages", description: "All of them, in their order, on one page.", codes: ambiguous}, (*API).listStages),
	}
}

func (a *API) listRuns(ctx context.Context, in *PageParams) (*body[berth.List[berth.RunSummary]], error) {
	return listPage(ctx, *in, a.cfg.Records.ListRuns)
}

func (a *API) createRun(ctx context.Context, in *KeyParams) (*created[berth.Run], error) {
	var req berth.RunRequest
	raw, err := readJSON(ctx, &req)
	if err != nil {
		return nil, err
	}
	id, replayed, err := a.once(ctx, *in, raw, 201, func(try attempt) (string, error) {
		id, err := a.cfg.Plane.CreateRun(ctx, berth.RunID(try.id), req, exchangeOf(ctx).principal.Name)
		return string(id), err
	})
	if err != nil {
		return nil, err
	}
	run, err := a.cfg.Records.FindRun(ctx, berth.RunID(id))
	return &created[berth.Run]{Location: Prefix + "/runs/" + id, Replayed: replayedHeader(replayed), Body: run}, err
}

func (a *API) preflightRun(ctx context.Context, _ *empty) (*body[berth.Preflight], error) {
	var req berth.RunRequest
	if _, err := readJSON(ctx, &req); err != nil {
		return nil, err
	}
	mayRun := slices.Contains(exchangeOf(ctx).principal.Scopes, berth.ScopeRun)
	report, err := a.cfg.Plane.Preflight(ctx, req, mayRun)
	return &body[berth.Preflight]{report}, err
}

func (a *API) findRun(ctx context.Context, in *RunParams) (*body[berth.Run], error) {
	id, err := a.run(ctx, *in)
	if err != nil {
		return nil, err
	}
	run, err := a.cfg.Records.FindRun(ctx, id)
	return &body[berth.Run]{run}, err
}

func (a *API) deleteRun(ctx context.Context, in *RunParams) (*empty, error) {
	id, err := a.run(ctx, *in)
	if err != nil {
		return nil, err
	}
	return nil, a.cfg.Plane.DeleteRun(ctx, id)
}

func (a *API) cancelRun(ctx context.Context, in *RunParams) (*body[berth.Run], error) {
	id, err := a.run(ctx, *in)
	if err != nil {
		return nil, err
	}
	if err := a.cfg.Plane.CancelRun(ctx, id); err != nil {
		return nil, err
	}
	run, err := a.cfg.Records.FindRun(ctx, id)
	return &body[berth.Run]{run}, err
}

func (a *API) listStages(ctx context.Context, in *RunParams) (*body[berth.List[berth.Stage]], error) {
	id, err := a.run(ctx, *in)
	if err != nil {
		return nil, err
	}
	stages, err := a.cfg.Records.ListStages(ctx, id)
	if err == nil && len(stages) == 0 { // a run has at least one
		_, err = a.cfg.Records.FindHead(ctx, id)
	}
	return &body[berth.List[berth.Stage]]{berth.List[berth.Stage]{Items: stages}}, err
}
