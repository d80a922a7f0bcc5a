package config

import (
	"fmt"
	"path"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// The limits of [run].
const (
	MaxPrepareSteps = 100
	MaxCloneDepth   = 1_000_000
	maxStepName     = 100
)

// checkRun applies the rules of [run] that do not depend on other layers.
func checkRun(r runTable) []berth.Problem {
	var p berth.Problems
	if r.WorkingDir != nil {
		_, err := cleanWorkingDir(*r.WorkingDir)
		p.AddError("run.working_dir", err)
	}
	if r.Timeout != nil {
		_, err := berth.ParseDuration(string(*r.Timeout))
		p.AddError("run.timeout", err)
	}
	if d := r.Clone.Depth; d != nil && (*d < 0 || *d > MaxCloneDepth) {
		p.Addf("run.clone.depth", "must be a whole number from 0, the full history, to %d", MaxCloneDepth)
	}
	p.Add(berth.ValidateLabels("run.labels", r.Labels)...)
	if r.Prepare == nil {
		return p.List()
	}
	if n := len(r.Prepare.Steps); n > MaxPrepareSteps {
		p.Addf("run.prepare.steps", "has %d steps, more than %d", n, MaxPrepareSteps)
	}
	for i, s := range r.Prepare.Steps {
		p.Add(checkStep(berth.IndexPath("run.prepare.steps", i), s)...)
	}
	return p.List()
}

// cleanWorkingDir returns the directory without . parts and doubled slashes;
// "." is the workspace itself and becomes empty.
func cleanWorkingDir(dir string) (string, error) {
	switch {
	case dir == "" || strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", berth.Errorf(berth.CodeInvalid, "must be a directory relative to the workspace")
	case path.IsAbs(dir):
		return "", berth.Errorf(berth.CodeInvalid, "must be relative to the workspace, not absolute; the directory of a local environment is its cwd")
	}
	for part := range strings.SplitSeq(dir, "/") {
		if part == ".." {
			return "", berth.Errorf(berth.CodeInvalid, "must not have .. in it: it may not lead out of the workspace")
		}
	}
	if dir = path.Clean(dir); dir == "." {
		return "", nil
	}
	return dir, nil
}

func checkStep(at string, s stepTable) []berth.Problem {
	var p berth.Problems
	if len(s.Name) > maxStepName {
		p.Addf(at+".name", "has %d bytes, more than %d", len(s.Name), maxStepName)
	}
	script := ""
	if s.Script != nil {
		script = *s.Script
	}
	p.Add(checkCommand(at, s.Command, script)...)
	p.Add(berth.ValidateEnv(at+".env", s.Env)...)
	if s.Timeout != nil {
		_, err := berth.ParseDuration(string(*s.Timeout))
		p.AddError(at+".timeout", err)
	}
	return p.List()
}

// checkCommand checks that one of a command and a script is there, and that the
// kernel can start it.
func checkCommand(at string, command []string, script string) []berth.Problem {
	var p berth.Problems
	place := func(key string) string { return joinPath(at, key) }
	switch {
	case len(command) > 0 && script != "":
		p.Addf(place("command"), "and script exclude each other")
	case len(command) == 0 && script == "":
		p.Addf(place("command"), "is missing: give a command, a list of strings, or a script")
	case len(command) > 0 && command[0] == "":
		p.Addf(place("command[0]"), "is empty: must be a program")
	}
	for i, arg := range command {
		p.AddError(berth.IndexPath(place("command"), i), checkArgument(arg))
	}
	p.AddError(place("script"), checkArgument(script))
	return p.List()
}

func checkArgument(s string) error {
	switch {
	case strings.Contains(s, "\x00"):
		return fmt.Errorf("has a NUL, which no argument of a process can hold")
	case len(s)+1 > berth.MaxEnvValueBytes:
		return fmt.Errorf("has %d bytes, more than the %d that the kernel passes to a process: put it into a file", len(s), berth.MaxEnvValueBytes-1)
	}
	return nil
}

// runSettings are the [run] tables of all layers, merged.
type runSettings struct {
	clone      berth.Clone
	prepare    []stepTable
	steps      *layer // where prepare is from
	workingDir string
	timeout    berth.Duration
	labels     map[string]string
}

func mergeRun(layers []*layer) runSettings {
	s := runSettings{
		clone:  berth.Clone{Enabled: true, Depth: berth.DefaultCloneDepth},
		labels: map[string]string{},
	}
	for _, l := range layers {
		r := l.file.Run
		if r.Clone.Enabled != nil {
			s.clone.Enabled = *r.Clone.Enabled
		}
		if r.Clone.Depth != nil {
			s.clone.Depth = *r.Clone.Depth
		}
		if r.Prepare != nil && r.Prepare.Steps != nil {
			s.prepare, s.steps = r.Prepare.Steps, l
		}
		if r.WorkingDir != nil {
			s.workingDir, _ = cleanWorkingDir(*r.WorkingDir)
		}
		if r.Timeout != nil {
			s.timeout = *r.Timeout
		}
		for k, v := range r.Labels {
			s.labels[k] = v
		}
	}
	return s
}
