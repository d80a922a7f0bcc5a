package control

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
)

// The names of preflight checks, in the order of a report.
const (
	checkRequest      = "request"
	checkEnvironments = "environment"
	checkProvider     = "provider"
	checkSettings     = "settings"
	checkTarget       = "target"
	checkDirectory    = "directory"
	checkVariables    = "variables"
	checkSecretNames  = "secrets"
	checkReachable    = "reachability"
)

var checkOrder = []string{
	checkRequest, checkEnvironments, checkProvider, checkSettings, checkTarget,
	checkDirectory, checkVariables, checkSecretNames, checkReachable,
}

// Preflight says what would become of a request without starting anything: every
// check of the report is there, whatever is wrong. An error is only returned
// when the server itself cannot tell. Who mayRun has machines of the request's own
// asked too; for others the server connects to no machine but those of environments
// that are stored.
func (p *Plane) Preflight(ctx context.Context, req berth.RunRequest, mayRun bool) (berth.Preflight, error) {
	def, err := p.resolve(ctx, req)
	if err != nil {
		return unresolved(err)
	}
	r := report{}
	r.passed(checkRequest, "the request and its files are in order")
	r.passed(checkEnvironments, "environment "+string(def.Environment.ID)+" is resolved")
	r.passed(checkProvider, "provider "+string(def.Environment.Provider)+" is enabled")
	r.passed(checkSettings, "the provider takes every setting")
	if len(def.Warnings) > 0 {
		r[checkSettings] = berth.Check{Status: berth.CheckWarning, Summary: "the provider ignores some settings", Details: def.Warnings}
	}
	r.passed(checkTarget, targetSummary(def))
	r.passed(checkDirectory, "the provider has its own workspace")
	if def.Directory != "" {
		r.passed(checkDirectory, "commands run in "+def.Directory)
	}
	r.passed(checkVariables, "every variable exists")
	problems, err := p.checkSecrets(ctx, def)
	if err != nil {
		return berth.Preflight{}, err
	}
	r.passed(checkSecretNames, "every secret exists and is a token")
	if len(problems) > 0 {
		r[checkSecretNames] = berth.Check{
			Status: berth.CheckError, Summary: "some secrets cannot be used", Details: problems,
			Remediation: "Set them: berth secret set NAME",
		}
	}
	mayAsk := mayRun
	if !mayAsk {
		if mayAsk, err = p.namesStored(ctx, def.Environment); err != nil {
			return berth.Preflight{}, err
		}
	}
	r[checkReachable] = p.reach(ctx, def.Environment, mayAsk)
	return r.preflight(&def, def.EnvironmentFrom), nil
}

// reachTime is how long a provider may take to answer a preflight.
const reachTime = 5 * time.Second

// reach asks the provider about a sandbox that cannot exist; one with hosts is
// asked where such a sandbox would be, and one of other people's machines asks the
// machine, if that may be.
func (p *Plane) reach(ctx context.Context, e berth.Environment, mayAsk bool) berth.Check {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	kind := e.Provider
	provider, err := p.Providers.Find(kind)
	placer, places := provider.(berth.Placer)
	asker, asks := provider.(berth.Asker)
	switch {
	case err != nil:
	case places:
		wait, surveyErr := placer.Survey(ctx, e)
		if surveyErr == nil && wait != "" {
			return berth.Check{
				Status: berth.CheckWarning, Summary: "a run would wait: " + wait,
				Remediation: "Wait for other runs to end, or add a host: berth host add NAME",
			}
		}
		err = surveyErr
		if code := berth.CodeOf(err); code == berth.CodeUnavailable || code == berth.CodeUnsupported {
			return failed(err.Error(), err)
		}
	case asks && !mayAsk:
		return berth.Check{
			Status: berth.CheckWarning, Summary: "no host was asked: that needs a key with the scope " + string(berth.ScopeRun),
			Remediation: "Use such a key, or an environment as it is stored on the server.",
		}
	case asks:
		said, asked, askErr := asker.Ask(ctx, e)
		switch {
		case askErr != nil:
			return failed(messageOf(askErr), askErr)
		case !asked:
			return berth.Check{Status: berth.CheckWarning, Summary: said}
		}
		return berth.Check{Status: berth.CheckPass, Summary: said}
	default:
		_, err = provider.Describe(ctx, berth.SandboxRef{ID: berth.SandboxID(p.IDs.NewID())})
	}
	if err != nil {
		return failed("provider "+string(kind)+" does not answer", err)
	}
	return berth.Check{Status: berth.CheckPass, Summary: "provider " + string(kind) + " answers"}
}

// namesStored reports whether the machine that e names is the one that the stored
// environment of its id names, reached in the same way.
func (p *Plane) namesStored(ctx context.Context, e berth.Environment) (bool, error) {
	stored, err := p.FindEnvironment(ctx, e.ID)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	asStored := berth.NormalizeEnvironment(stored.Environment)
	return e.Provider == asStored.Provider && reflect.DeepEqual(e.SSH, asStored.SSH), nil
}

// CheckEnvironment is Preflight of an environment alone. That a local one needs
// a directory from its run is no error of it. Error: not_found.
func (p *Plane) CheckEnvironment(ctx context.Context, id berth.EnvironmentID) (berth.Preflight, error) {
	stored, err := p.FindEnvironment(ctx, id)
	if err != nil {
		return berth.Preflight{}, err
	}
	req := berth.RunRequest{Environment: string(id), Command: []string{"true"}}
	byRun := stored.Provider == berth.ProviderLocal && stored.CWD == nil
	if byRun {
		req.Target = &berth.Target{Kind: berth.TargetFolder, Path: "/"}
	}
	report, err := p.Preflight(ctx, req, false)
	if err != nil || !byRun {
		report.Target = nil
		return report, err
	}
	report.Target = nil
	for i := range report.Checks {
		if c := &report.Checks[i]; c.Status == berth.CheckPass && (c.Name == checkTarget || c.Name == checkDirectory) {
			c.Summary = "each run brings its own directory, as the environment sets no cwd"
		}
	}
	return report, nil
}

// report holds checks by name.
type report map[string]berth.Check

func (r report) passed(name, summary string) {
	r[name] = berth.Check{Status: berth.CheckPass, Summary: summary}
}

func (r report) preflight(def *berth.Definition, sources map[string]string) berth.Preflight {
	out := berth.Preflight{OK: true, Sources: sources, Checks: []berth.Check{}}
	if out.Sources == nil {
		out.Sources = map[string]string{}
	}
	if def != nil {
		out.Environment, out.Target = &def.Environment, &def.Target
	}
	for _, name := range checkOrder {
		c, made := r[name]
		if !made {
			c = berth.Check{Status: berth.CheckWarning, Summary: "not checked: correct the errors first"}
		}
		c.Name = name
		if c.Details == nil {
			c.Details = []berth.Problem{}
		}
		out.OK = out.OK && c.Status != berth.CheckError
		out.Checks = append(out.Checks, c)
	}
	return out
}

// unresolved makes the report of a request that could not be resolved. What the
// server could not read stays an error.
func unresolved(err error) (berth.Preflight, error) {
	var e *berth.Error
	if !errors.As(err, &e) {
		return berth.Preflight{}, err
	}
	switch e.Code {
	case berth.CodeInvalid, berth.CodeUnsupported, berth.CodeNotFound, berth.CodeMalformed, berth.CodeTooLarge, berth.CodeConflict:
	default:
		return berth.Preflight{}, err
	}
	r := report{}
	problems := e.Problems
	if len(problems) == 0 {
		problems = []berth.Problem{{Location: e.Field, Message: e.Message}}
	}
	for _, problem := range problems {
		name := checkOf(err, e.Code, problem.Location)
		c := r[name]
		c.Status, c.Summary, c.Remediation = berth.CheckError, problem.Message, e.Remediation
		if c.Details = append(c.Details, problem); len(c.Details) > 1 {
			c.Summary = e.Message
		}
		r[name] = c
	}
	return r.preflight(nil, nil), nil
}

// checkOf says which check a problem belongs to.
func checkOf(err error, code berth.Code, location string) string {
	_, path, inFile := strings.Cut(location, ": ")
	if !inFile {
		path = location
	}
	switch {
	case errors.Is(err, config.ErrProviderDisabled):
		return checkProvider
	case errors.Is(err, berth.ErrDirectoryMissing):
		return checkDirectory
	case strings.HasPrefix(path, "target"):
		return checkTarget
	case code == berth.CodeUnsupported:
		return checkSettings
	case code == berth.CodeNotFound, path == "environment":
		return checkEnvironments
	case strings.HasPrefix(path, "env.") || strings.Contains(path, ".env.") || strings.HasPrefix(path, "env[") || strings.Contains(path, ".env["):
		return checkVariables
	case !inFile && isRequestField(path):
		return checkRequest
	case inFile && !strings.HasPrefix(path, "environments.") && !strings.HasPrefix(path, "run.environment"):
		return checkRequest
	}
	return checkEnvironments
}

func isRequestField(path string) bool {
	name, _, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")
	switch name {
	case "command", "script", "timeout", "labels", "configs", "source_directory", "":
		return true
	}
	return false
}

// messageOf is what err says, without its causes.
func messageOf(err error) string {
	var e *berth.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

func failed(summary string, err error) berth.Check {
	c := berth.Check{Status: berth.CheckError, Summary: summary}
	var e *berth.Error
	if errors.As(err, &e) {
		c.Details = []berth.Problem{{Location: e.Field, Message: e.Message}}
		c.Remediation = e.Remediation
	}
	if c.Remediation == "" {
		c.Remediation = "Look whether it runs and can be reached from the server."
	}
	return c
}

func targetSummary(def berth.Definition) string {
	t, e := def.Target, def.Environment
	kept := e.Provider == berth.ProviderSSH && e.SSH != nil // a folder of the user's, with what is there
	switch t.Kind {
	case berth.TargetGit:
		if kept && def.Clone.Enabled {
			return "code comes from " + t.Origin + "; " + e.SSH.WorkingDirectory + " must be empty, or a clone of it without changes"
		}
		return "code comes from " + t.Origin
	case berth.TargetFolder:
		return "the run works in the folder itself"
	case berth.TargetNone:
		if kept {
			return "the run begins in " + e.SSH.WorkingDirectory + " of the host, with the files that are there"
		}
		return "the run begins in an empty workspace"
	}
	return "no target is given: the directory rules decide"
}
