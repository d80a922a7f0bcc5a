package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/strict"
)

// EnvironmentParams name an environment.
type EnvironmentParams struct {
	ID string `path:"id" doc:"Slug of the environment" example:"default"`
}

func (in EnvironmentParams) id() (berth.EnvironmentID, error) {
	id, err := berth.ParseEnvironmentID(in.ID)
	if err != nil {
		return "", at("path.id", err)
	}
	return id, nil
}

type environmentChange struct {
	EnvironmentParams
	MatchParams
}

// check is what can be said of a change before the environment is read. Errors:
// invalid for the id, and those of checkSyntax.
func (in environmentChange) check() (berth.EnvironmentID, error) {
	id, err := in.id()
	if err != nil {
		return "", err
	}
	return id, in.checkSyntax()
}

// taggedEnvironment is an environment with its version.
type taggedEnvironment struct {
	ETag string `header:"ETag" doc:"What the environment is, for If-Match"`
	Body berth.Environment
}

func tagged(e records.StoredEnvironment) (*taggedEnvironment, error) {
	tag, err := etagOf(e)
	return &taggedEnvironment{ETag: tag, Body: berth.NormalizeEnvironment(e.Environment)}, err
}

var environmentExample = map[string]any{
	"id": "ci", "provider": "docker", "image": map[string]any{"docker": "buildpack-deps:noble"},
	"resources": map[string]any{"cpu": 2, "memory": "4GB"}, "env": map[string]any{"TOKEN": "{{ secrets.TOKEN }}"},
}

func environmentOperations() []operation {
	changes := []berth.Code{berth.CodeConflict, berth.CodeStale, berth.CodePreconditionRequired, berth.CodeUnsupported}
	return []operation{
		op("list-environments", spec{summary: "List environments", description: "In the order of their ids."}, (*API).listEnvironments),
		op("create-environment", spec{
			summary: "Create an environment", description: "Fields that are left out have their defaults. `local` is reserved.",
			status: 201, takes: berth.Environment{}, optional: true, example: environmentExample, codes: []berth.Code{berth.CodeUnsupported},
		}, (*API).createEnvironment),
		op("find-environment", spec{summary: "Show an environment"}, (*API).findEnvironment),
		op("replace-environment", spec{
			summary: "Replace an environment", description: "Fields that are left out get their defaults. Two that replace at once: one wins, the other is 412.",
			takes: berth.Environment{}, optional: true, example: environmentExample, codes: changes,
		}, (*API).replaceEnvironment),
		op("update-environment", spec{
			summary: "Change parts of an environment", description: "A JSON merge patch (RFC 7396): null removes, what is left out stays.",
			takes: berth.Environment{}, optional: true, example: map[string]any{"resources": map[string]any{"memory": "8GB"}}, codes: changes,
		}, (*API).updateEnvironment),
		op("delete-environment", spec{summary: "Delete an environment", codes: changes}, (*API).deleteEnvironment),
		op("check-environment", spec{
			summary:     "Check an environment",
			description: "Resolves it, maps it onto its provider and asks the provider, without a run.", codes: []berth.Code{berth.CodeUnsupported},
		}, (*API).checkEnvironment),
	}
}

func (a *API) listEnvironments(ctx context.Context, in *PageParams) (*body[berth.List[berth.Environment]], error) {
	return listPage(ctx, *in, func(ctx context.Context, limit int, cursor string) ([]berth.Environment, string, error) {
		stored, next, err := a.cfg.Plane.ListEnvironments(ctx, limit, cursor)
		items := make([]berth.Environment, len(stored))
		for i, e := range stored {
			items[i] = berth.NormalizeEnvironment(e.Environment)
		}
		return items, next, err
	})
}

func (a *API) findEnvironment(ctx context.Context, in *EnvironmentParams) (*taggedEnvironment, error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	e, err := a.cfg.Plane.FindEnvironment(ctx, id)
	if err != nil {
		return nil, err
	}
	return tagged(e)
}

// createdEnvironment is the answer to a creation.
type createdEnvironment struct {
	Location string `header:"Location" doc:"Where the resource is"`
	Replayed string `header:"Idempotent-Replayed" doc:"true when an earlier request with this Idempotency-Key made it"`
	ETag     string `header:"ETag" doc:"What the environment is, for If-Match"`
	Body     berth.Environment
}

func (a *API) createEnvironment(ctx context.Context, in *KeyParams) (*createdEnvironment, error) {
	e := berth.EnvironmentDefaults()
	raw, err := readJSON(ctx, &e)
	if err != nil {
		return nil, allFaults(err, e)
	}
	if err := checkEnvironment(e); err != nil {
		return nil, err
	}
	var made records.StoredEnvironment
	resource, replayed, err := a.once(ctx, *in, raw, 201, func(try attempt) (string, error) {
		made, err = a.cfg.Plane.CreateEnvironment(ctx, berth.NormalizeEnvironment(e))
		if try.again && berth.CodeOf(err) == berth.CodeConflict {
			made, err = a.createdEarlier(ctx, berth.NormalizeEnvironment(e), err)
		}
		return string(made.ID), err
	})
	if err == nil && replayed {
		made, err = a.cfg.Plane.FindEnvironment(ctx, berth.EnvironmentID(resource))
	}
	if err != nil {
		return nil, err
	}
	out, err := tagged(made)
	if err != nil {
		return nil, err
	}
	return &createdEnvironment{
		Location: Prefix + "/environments/" + string(made.ID), Replayed: replayedHeader(replayed), ETag: out.ETag, Body: out.Body,
	}, nil
}

// createdEarlier takes an environment that is exactly what was asked for as made by
// the attempt that broke off.
func (a *API) createdEarlier(ctx context.Context, e berth.Environment, conflict error) (records.StoredEnvironment, error) {
	there, err := a.cfg.Plane.FindEnvironment(ctx, e.ID)
	if err == nil && reflect.DeepEqual(berth.NormalizeEnvironment(there.Environment), e) {
		return there, nil
	}
	return records.StoredEnvironment{}, conflict
}

func (a *API) replaceEnvironment(ctx context.Context, in *environmentChange) (*taggedEnvironment, error) {
	id, err := in.check()
	if err != nil {
		return nil, err
	}
	e := berth.EnvironmentDefaults()
	e.ID = id
	if _, err := readJSON(ctx, &e); err != nil {
		return nil, allFaults(err, e)
	}
	return a.storeEnvironment(ctx, in, id, func(berth.Environment) (berth.Environment, error) { return e, nil })
}

func (a *API) updateEnvironment(ctx context.Context, in *environmentChange) (*taggedEnvironment, error) {
	id, err := in.check()
	if err != nil {
		return nil, err
	}
	patch, problems, err := readTree(ctx)
	if err != nil {
		return nil, err
	}
	return a.storeEnvironment(ctx, in, id, func(old berth.Environment) (berth.Environment, error) {
		return patched(old, patch, problems)
	})
}

// patched applies a merge patch. What it removes gets its default.
func patched(old berth.Environment, patch any, problems []berth.Problem) (berth.Environment, error) {
	if _, ok := patch.(map[string]any); !ok {
		return old, berth.Errorf(berth.CodeInvalid, "a merge patch must be an object")
	}
	stored, err := json.Marshal(old)
	if err != nil {
		return old, fmt.Errorf("patching environment %s: %w", old.ID, err)
	}
	tree, _, err := strict.Tree(stored)
	if err != nil {
		return old, fmt.Errorf("patching environment %s: %w", old.ID, err)
	}
	e := berth.EnvironmentDefaults()
	var p berth.Problems
	p.Add(problems...)
	p.Add(unknownNulls(patch, typeOf(e), "")...)
	p.Add(strict.Decode(strict.MergePatch(tree, patch), &e, "")...)
	if err := berth.Invalid(p.List()); err != nil {
		return old, allFaults(err, e)
	}
	return e, nil
}

// storeEnvironment puts what change makes of the present environment in its
// place, unless somebody else was faster than who named a version.
func (a *API) storeEnvironment(ctx context.Context, in *environmentChange, id berth.EnvironmentID, change func(berth.Environment) (berth.Environment, error)) (*taggedEnvironment, error) {
	var stored records.StoredEnvironment
	err := a.changeEnvironment(ctx, in, id, func(old records.StoredEnvironment) error {
		e, err := change(old.Environment)
		if err != nil {
			return err
		}
		if e.ID != id {
			return berth.FieldErrorf(berth.CodeInvalid, "id", "must be that of the path or absent: environments are not renamed")
		}
		if err := checkEnvironment(e); err != nil {
			return err
		}
		stored, err = a.cfg.Plane.ReplaceEnvironment(ctx, berth.NormalizeEnvironment(e), old.Version)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tagged(stored)
}

// changeTries is how often a change of whatever is there looks again at what it is.
const changeTries = 10

// changeEnvironment makes a change of the environment as it stands, and for who
// said * another when it does not stand like that any more.
func (a *API) changeEnvironment(ctx context.Context, in *environmentChange, id berth.EnvironmentID, change func(old records.StoredEnvironment) error) error {
	if err := berth.CheckReserved(id); err != nil {
		return at("path.id", err)
	}
	for try := 1; ; try++ {
		old, err := a.cfg.Plane.FindEnvironment(ctx, id)
		if err != nil {
			return err
		}
		if err := in.matches(old); err != nil {
			return err
		}
		if err = change(old); berth.CodeOf(err) != berth.CodeStale {
			return err
		}
		if !in.any() || try == changeTries {
			return errStale(err)
		}
	}
}

func (a *API) deleteEnvironment(ctx context.Context, in *environmentChange) (*empty, error) {
	id, err := in.check()
	if err != nil {
		return nil, err
	}
	return nil, a.changeEnvironment(ctx, in, id, func(old records.StoredEnvironment) error {
		return a.cfg.Plane.DeleteEnvironment(ctx, id, old.Version)
	})
}

func (a *API) checkEnvironment(ctx context.Context, in *EnvironmentParams) (*body[berth.Preflight], error) {
	id, err := in.id()
	if err != nil {
		return nil, err
	}
	report, err := a.cfg.Plane.CheckEnvironment(ctx, id)
	return &body[berth.Preflight]{report}, err
}

func checkEnvironment(e berth.Environment) error { return berth.Invalid(berth.ValidateEnvironment(e)) }
