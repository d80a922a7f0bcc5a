package config

import (
	"maps"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/interpolate"
)

// checkRequest checks what the request itself says.
func checkRequest(r berth.RunRequest) []berth.Problem {
	var p berth.Problems
	if r.Environment != "" {
		_, err := berth.ParseEnvironmentID(r.Environment)
		p.AddError("environment", err)
	}
	p.Add(checkCommand("", r.Command, r.Script)...)
	if r.Target != nil {
		p.Add(berth.ValidateTarget(*r.Target)...)
	}
	if r.Timeout != "" {
		_, err := berth.ParseDuration(string(r.Timeout))
		p.AddError("timeout", err)
	}
	p.Add(berth.ValidateLabels("labels", r.Labels)...)
	return p.List()
}

// define puts the request over the settings of the files.
func define(r berth.RunRequest, e berth.Environment, s runSettings) berth.Definition {
	d := berth.Definition{
		Environment: e,
		WorkingDir:  s.workingDir,
		Clone:       s.clone,
		Command:     r.Command,
		Script:      r.Script,
		Timeout:     s.timeout,
		Labels:      s.labels,
	}
	if r.Target != nil {
		d.Target = berth.NormalizeTarget(*r.Target)
	}
	if d.Target.Kind == "" && e.Provider != berth.ProviderLocal {
		d.Target.Kind = berth.TargetNone
	}
	if r.Timeout != "" {
		d.Timeout = r.Timeout
	}
	maps.Copy(d.Labels, r.Labels)
	for _, step := range s.prepare {
		d.Prepare = append(d.Prepare, defineStep(step))
	}
	return d
}

// checkClone refuses a clone in a sandbox that has no network to fetch by.
func checkClone(d berth.Definition) []berth.Problem {
	if d.Target.Kind != berth.TargetGit || !d.Clone.Enabled {
		return nil
	}
	var setting string
	switch e := d.Environment; {
	case e.Network.Mode == berth.NetworkBlock:
		setting = "network.mode = block"
	case e.Docker != nil && e.Docker.NetworkMode == "none":
		setting = "docker.network_mode = none"
	default:
		return nil
	}
	return []berth.Problem{{
		Location: "target.kind",
		Message: "the code is fetched inside the sandbox, and " + setting + " leaves it no network: " +
			"allow the network, choose target none, or set [run.clone] enabled = false",
	}}
}

func defineStep(s stepTable) berth.Step {
	step := berth.Step{Name: s.Name, Command: s.Command, Env: s.Env, Timeout: berth.DefaultPrepareTimeout}
	if s.Script != nil {
		step.Script = *s.Script
	}
	if s.Timeout != nil {
		step.Timeout = *s.Timeout
	}
	return step
}

// finishDefinition replaces variables and finds the directory of a local run.
// steps is the file that the prepare steps are from.
func finishDefinition(in Input, d *berth.Definition, from origins, steps *layer) error {
	var p berth.Problems
	if n := len(d.Labels); n > berth.MaxLabels {
		p.Addf("labels", "are %d together with those of the files, more than %d", n, berth.MaxLabels)
	}
	env, err := replaceVariables(&p, in.Variables, d.Environment.Env, func(name string) string {
		return from.location(berth.FieldPath("env", name))
	})
	if err != nil {
		return err
	}
	d.Environment.Env = env
	for i, step := range d.Prepare {
		d.Prepare[i].Env, err = replaceVariables(&p, in.Variables, step.Env, func(name string) string {
			return steps.at(berth.FieldPath(berth.IndexPath("run.prepare.steps", i)+".env", name))
		})
		if err != nil {
			return err
		}
	}
	if p.Empty() { // what variables brought in may be too much as a whole
		p.Add(from.placed(berth.ValidateEnvironment(d.Environment))...)
	}
	if err := berth.Invalid(p.List()); err != nil {
		return err
	}
	if d.Environment.Provider != berth.ProviderLocal {
		return nil
	}
	d.Directory, err = berth.ResolveDirectory(berth.DirectoryRequest{
		Target: d.Target, CWD: d.Environment.CWD, SourceDirectory: in.Request.SourceDirectory, Directories: in.Directories,
	})
	if d.Target.Kind == berth.TargetFolder {
		d.Target.Path = d.Directory
	}
	return err
}

// replaceVariables returns env with its variables replaced; what is wrong with
// the input is added to p at the place of the variable.
func replaceVariables(p *berth.Problems, lookup interpolate.Lookup, env map[string]string, at func(name string) string) (map[string]string, error) {
	if env == nil {
		return nil, nil
	}
	resolved := make(map[string]string, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value, err := interpolate.Vars(berth.FieldPath("env", name), env[name], lookup)
		if err := asProblem(p, at(name), err); err != nil {
			return nil, err
		}
		if err == nil {
			for _, problem := range berth.ValidateEnv("env", map[string]string{name: value}) {
				p.Addf(at(name), "%s", problem.Message)
			}
		}
		resolved[name] = value
	}
	return resolved, nil
}
