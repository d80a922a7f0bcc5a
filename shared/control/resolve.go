package control

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
	"github.com/berth-dev/berth/shared/interpolate"
)

// resolve makes a run's definition. Errors: those of config.Resolve.
func (p *Plane) resolve(ctx context.Context, req berth.RunRequest) (berth.Definition, error) {
	return config.Resolve(config.Input{
		Request: req, Catalogue: p.catalogue(ctx), ServerDefault: p.ServerDefault,
		Variables: p.variables(ctx), Policy: p.policy(), Directories: p.Directories,
	})
}

func (p *Plane) catalogue(ctx context.Context) config.Catalogue {
	return config.Catalogue{
		Find: func(id berth.EnvironmentID) (berth.Environment, bool, error) {
			e, err := p.Records.FindEnvironment(ctx, id)
			if berth.CodeOf(err) == berth.CodeNotFound {
				return berth.Environment{}, false, nil
			}
			return e.Environment, err == nil, err
		},
		IDs: func() ([]berth.EnvironmentID, error) {
			page, _, err := p.Records.ListEnvironments(ctx, berth.MaxQueryLimit, "")
			ids := make([]berth.EnvironmentID, len(page))
			for i, e := range page {
				ids[i] = e.ID
			}
			return ids, err
		},
	}
}

func (p *Plane) variables(ctx context.Context) interpolate.Lookup {
	return func(name string) (string, bool, error) {
		v, err := p.Records.FindVariable(ctx, name)
		if berth.CodeOf(err) == berth.CodeNotFound {
			return "", false, nil
		}
		return v.Value, err == nil, err
	}
}

// checkSecrets returns what is wrong with the secrets that the definition refers
// to: every one must exist and be a token. Their values are not read.
func (p *Plane) checkSecrets(ctx context.Context, def berth.Definition) ([]berth.Problem, error) {
	var problems berth.Problems
	check := func(field string, env map[string]string) error {
		_, names, _ := interpolate.References(env)
		for _, name := range names {
			err := p.environ().CheckSecret(ctx, name)
			if err != nil && berth.CodeOf(err) != berth.CodeInvalid {
				return err
			}
			problems.AddError(field, err)
		}
		return nil
	}
	if err := check("environment.env", def.Environment.Env); err != nil {
		return nil, err
	}
	for i, step := range def.Prepare {
		if err := check(berth.IndexPath("run.prepare.steps", i)+".env", step.Env); err != nil {
			return nil, err
		}
	}
	return problems.List(), nil
}
