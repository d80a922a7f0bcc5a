package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

// placing is a provider with hosts, of which one thing is known.
type placing struct {
	*runnertest.Provider
	berth.Placer
	off, wait string
	err       error
	refuses   error
}

func (placing) Kind() berth.ProviderKind { return berth.ProviderDocker }

func (p placing) Off() string { return p.off }

func (p placing) Survey(context.Context, berth.Environment) (string, error) { return p.wait, p.err }

func (p placing) Admits(context.Context, berth.Environment) error { return p.refuses }

func TestARunWhoseLabelsChooseNoHostIsRefusedBeforeItIsRecorded(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	refusal := berth.FieldErrorf(berth.CodeUnsupported, "environment.labels", "choose a host that there is not")
	p.Providers = control.NewProviders(placing{Provider: p.provider, refuses: refusal})
	p.environment("ci", func(e *berth.Environment) { e.Provider = berth.ProviderDocker })
	id := berth.RunID(p.IDs.NewID())
	_, err := p.CreateRun(t.Context(), id, berth.RunRequest{Environment: "ci", Command: []string{"true"}}, "tester")
	if !errors.Is(err, refusal) {
		t.Errorf("CreateRun() = %v, want %v", err, refusal)
	}
	if _, err := p.Records.FindHead(t.Context(), id); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("a run that was refused is recorded: %v", err)
	}
}

func TestAPreflightSaysWhetherAHostWouldTakeTheSandbox(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider  placing
		check     string
		status    berth.CheckStatus
		says      string
		remediate string
	}{
		"a host with room":    {placing{}, "reachability", berth.CheckPass, "answers", ""},
		"hosts that are full": {placing{wait: "no host has room"}, "reachability", berth.CheckWarning, "a run would wait: no host has room", "add a host"},
		"no host that would": {
			placing{err: &berth.Error{Code: berth.CodeUnavailable, Message: "no host has room: eu-1 is lost", Remediation: "berth host list"}},
			"reachability", berth.CheckError, "eu-1 is lost", "berth host list",
		},
		"labels that no host has": {
			placing{err: &berth.Error{Code: berth.CodeUnsupported, Field: "environment.labels", Message: "choose a host that there is not", Remediation: "berth host add NAME --label zone=a"}},
			"reachability", berth.CheckError, "choose a host that there is not", "--label zone=a",
		},
		"no host at all": {placing{off: "no host has joined"}, "provider", berth.CheckError, "no host has joined", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			test.provider.Provider = p.provider
			p.Providers = control.NewProviders(test.provider)
			p.environment("ci", func(e *berth.Environment) { e.Provider = berth.ProviderDocker })
			report, err := p.CheckEnvironment(t.Context(), "ci")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range report.Checks {
				if c.Name != test.check {
					continue
				}
				if c.Status != test.status || !strings.Contains(c.Summary+c.Remediation, test.says) || !strings.Contains(c.Remediation, test.remediate) {
					t.Errorf("%s is %s: %q, %q", c.Name, c.Status, c.Summary, c.Remediation)
				}
				return
			}
			t.Errorf("no check %s in %+v", test.check, report)
		})
	}
}

// machines is a provider of other people's machines.
type machines struct {
	*runnertest.Provider
	said  string
	asked bool
	err   error
}

func (machines) Kind() berth.ProviderKind { return berth.ProviderSSH }

func (m machines) Ask(context.Context, berth.Environment) (string, bool, error) {
	return m.said, m.asked, m.err
}

func TestAPreflightAsksTheMachineThatAnEnvironmentNames(t *testing.T) {
	t.Parallel()
	refused := &berth.Error{Code: berth.CodeForbidden, Message: "the host key of box is not known", Remediation: "Add it to known_hosts.", Cause: errors.New("exit status 255")}
	for name, test := range map[string]struct {
		provider machines
		want     berth.Check
	}{
		"one that answers":       {machines{said: "the host box answers", asked: true}, berth.Check{Status: berth.CheckPass, Summary: "the host box answers"}},
		"one that was not asked": {machines{said: "no host was asked"}, berth.Check{Status: berth.CheckWarning, Summary: "no host was asked"}},
		"one that cannot be used": {machines{err: refused}, berth.Check{
			Status: berth.CheckError, Summary: refused.Message, Remediation: refused.Remediation, Details: []berth.Problem{{Message: refused.Message}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			test.provider.Provider = p.provider
			p.Providers = control.NewProviders(test.provider)
			p.environment("ci", func(e *berth.Environment) {
				e.Provider, e.SSH = berth.ProviderSSH, &berth.SSHOptions{Destination: "box", WorkingDirectory: "/srv/work"}
			})
			report, err := p.CheckEnvironment(t.Context(), "ci")
			if err != nil {
				t.Fatal(err)
			}
			got := report.Checks[len(report.Checks)-1]
			test.want.Name = "reachability"
			if test.want.Details == nil {
				test.want.Details = []berth.Problem{}
			}
			if diff := cmp.Diff(test.want, got); diff != "" || report.OK != (test.want.Status != berth.CheckError) {
				t.Errorf("OK is %v; the check (-want +got):\n%s", report.OK, diff)
			}
		})
	}
}

func TestAPreflightSaysWhatAFolderOfAHostHoldsAtTheStart(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.Providers = control.NewProviders(machines{Provider: p.provider, said: "the host box answers", asked: true})
	p.environment("ci", func(e *berth.Environment) {
		e.Provider, e.SSH = berth.ProviderSSH, &berth.SSHOptions{Destination: "box", WorkingDirectory: "/srv/work"}
	})
	for name, test := range map[string]struct {
		target berth.Target
		want   string
	}{
		"no code":    {berth.Target{Kind: berth.TargetNone}, "the run begins in /srv/work of the host, with the files that are there"},
		"a git repo": {berth.Target{Kind: berth.TargetGit, Origin: "https://example.com/o/r"}, "code comes from https://example.com/o/r; /srv/work must be empty, or a clone of it without changes"},
	} {
		report, err := p.Preflight(t.Context(), berth.RunRequest{Environment: "ci", Command: []string{"true"}, Target: &test.target}, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range report.Checks {
			if c.Name == "target" && c.Summary != test.want {
				t.Errorf("%s: the target's check says %q, want %q", name, c.Summary, test.want)
			}
		}
	}
}
