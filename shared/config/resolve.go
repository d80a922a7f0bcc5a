package config

import (
	"errors"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/interpolate"
	"github.com/berth-dev/berth/shared/strict"
)

// Input is everything that decides what a run does.
type Input struct {
	Request   berth.RunRequest
	Catalogue Catalogue
	// ServerDefault is the environment of runs that name none; empty is
	// berth.DefaultEnvironmentID.
	ServerDefault berth.EnvironmentID
	Variables     interpolate.Lookup
	Policy        Policy
	// Directories resolves the directory of local runs; nil is the server's file system.
	Directories berth.Directories
}

// Resolve merges all layers, checks the result, and replaces variables; secrets
// stay tokens. Problems are in a fixed order and located as
// `.berth/project.toml:3: run.environment.resources.memory`.
//
// Errors: invalid, with every problem of a step (wrapping ErrProviderDisabled or
// berth.ErrDirectoryMissing where that is the reason); not_found for an unknown
// environment; unsupported for what the provider cannot do; what Catalogue and
// Variables return.
func Resolve(in Input) (berth.Definition, error) {
	layers, problems := readLayers(in.Request.Configs)
	problems = append(checkRequest(in.Request), problems...)
	if err := berth.Invalid(problems); err != nil {
		return berth.Definition{}, err
	}
	m, err := mergeEnvironment(in, layers)
	if err != nil {
		return berth.Definition{}, err
	}
	e, warnings, err := m.finish(in)
	if err != nil {
		return berth.Definition{}, err
	}
	settings := mergeRun(layers)
	d := define(in.Request, e, settings)
	if err := berth.Unsupported(checkClone(d)); err != nil {
		return berth.Definition{}, err
	}
	if err := finishDefinition(in, &d, m.origins, settings.steps); err != nil {
		return berth.Definition{}, err
	}
	d.Warnings, d.EnvironmentFrom = warnings, m.origins.sources()
	return d, nil
}

// finish decodes and checks the merged environment.
func (m *merger) finish(in Input) (berth.Environment, []berth.Problem, error) {
	e := berth.EnvironmentDefaults()
	if problems := strict.Decode(m.tree, &e, ""); len(problems) > 0 {
		return e, nil, berth.Invalid(m.origins.placed(problems))
	}
	if err := berth.Invalid(m.origins.placed(berth.ValidateEnvironment(e))); err != nil {
		return e, nil, err
	}
	e = berth.NormalizeEnvironment(e)
	if err := berth.Invalid(m.origins.placed(in.Policy.Check(e))); err != nil {
		var disabled *berth.Error
		if errors.As(err, &disabled) && !in.Policy.Enabled(e.Provider) {
			disabled.Cause = ErrProviderDisabled
		}
		return e, nil, err
	}
	warnings, unsupported := berth.CheckMapping(e)
	problems := m.origins.placed(unsupported)
	if in.Request.Target != nil {
		problems = append(problems, berth.CheckTarget(*in.Request.Target, e.Provider)...)
	}
	return e, m.origins.placed(warnings), berth.Unsupported(problems)
}

// mergeEnvironment selects an environment and lays its layers on each other.
func mergeEnvironment(in Input, layers []*layer) (*merger, error) {
	id, named := selectEnvironment(in, layers)
	if id == berth.LocalEnvironmentID && !in.Policy.Enabled(berth.ProviderLocal) {
		return nil, &berth.Error{Code: berth.CodeNotFound, Field: named, Message: "environment local does not exist: " + in.Policy.disabled(berth.ProviderLocal), Cause: ErrProviderDisabled}
	}
	m := &merger{tree: map[string]any{}, origins: origins{}}
	base, found, err := findServerEnvironment(in, id)
	if err != nil {
		return nil, berth.Wrap(err, fmt.Sprintf("reading environment %s", id))
	}
	if found {
		tree, err := environmentTree(base)
		if err != nil {
			return nil, err
		}
		m.merge(tree, origin{source: sourceServer})
	}
	for _, l := range layers {
		if tree, ok := l.environments[id]; ok {
			m.merge(tree, origin{layer: l, table: berth.FieldPath("environments", string(id))})
			found = true
		}
	}
	if !found {
		return nil, unknownEnvironment(in, layers, id, named)
	}
	for _, l := range layers {
		m.merge(l.override, origin{layer: l, table: "run.environment"})
	}
	if p := in.Request.PreserveSandbox; p != nil {
		m.merge(map[string]any{"lifecycle": map[string]any{"preserve": *p}}, origin{source: sourceRequest})
	}
	m.tree["id"] = string(id)
	delete(m.origins, "id")
	m.fillDefaults()
	return m, nil
}

// fillDefaults names the source of what no layer set.
func (m *merger) fillDefaults() {
	for _, path := range []string{"network.mode", "lifecycle.preserve", "lifecycle.stop_on_terminal"} {
		if _, set := m.origins[path]; !set {
			m.origins[path] = origin{source: sourceBuiltIn}
		}
	}
}

func findServerEnvironment(in Input, id berth.EnvironmentID) (berth.Environment, bool, error) {
	if id == berth.LocalEnvironmentID {
		return berth.LocalEnvironment(), true, nil
	}
	return in.Catalogue.Find(id)
}

// selectEnvironment returns the id and where it was named: the request beats the
// files, the strongest first, and those the server's default.
func selectEnvironment(in Input, layers []*layer) (id berth.EnvironmentID, named string) {
	if in.Request.Environment != "" {
		return berth.EnvironmentID(in.Request.Environment), "environment"
	}
	for i := len(layers) - 1; i >= 0; i-- {
		if l := layers[i]; l.selected != "" {
			return l.selected, l.at("run.environment.id")
		}
	}
	if in.ServerDefault != "" {
		return in.ServerDefault, "environment"
	}
	return berth.DefaultEnvironmentID, "environment"
}
