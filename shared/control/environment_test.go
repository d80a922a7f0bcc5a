package control_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
)

func TestLocalIsThereExactlyWhenItsProviderIsOn(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	e, err := p.FindEnvironment(t.Context(), "local")
	if err != nil || e.Version != 0 || e.Provider != berth.ProviderLocal || e.Env == nil || !e.Lifecycle.StopOnTerminal {
		t.Errorf("FindEnvironment(local) = %+v, %v", e, err)
	}
	p.Providers = control.NewProviders()
	_, err = p.FindEnvironment(t.Context(), "local")
	wantCode(t, "FindEnvironment(local) with the provider off", err, berth.CodeNotFound)
	if page, next, err := p.ListEnvironments(t.Context(), 10, ""); err != nil || len(page) != 0 || next != "" {
		t.Errorf("ListEnvironments() = %v, %q, %v", page, next, err)
	}
}

func TestTheReservedEnvironmentIsNeverStored(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	_, err := p.CreateEnvironment(t.Context(), berth.LocalEnvironment())
	wantCode(t, "CreateEnvironment(local)", err, berth.CodeConflict)
	_, err = p.ReplaceEnvironment(t.Context(), berth.LocalEnvironment(), 1)
	wantCode(t, "ReplaceEnvironment(local)", err, berth.CodeConflict)
	wantCode(t, "DeleteEnvironment(local)", p.DeleteEnvironment(t.Context(), "local", 1), berth.CodeConflict)
}

func TestPagesOfAnySizeHaveEveryEnvironmentOnceAndLocalLast(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	for _, id := range []berth.EnvironmentID{"zeta", "alpha", "mid"} {
		p.environment(id, func(*berth.Environment) {})
	}
	for limit := 1; limit <= 5; limit++ {
		var got []string
		for cursor, pages := "", 0; pages < 10; pages++ {
			page, next, err := p.ListEnvironments(t.Context(), limit, cursor)
			if err != nil || len(page) > limit {
				t.Fatalf("ListEnvironments(%d) = %d, %v", limit, len(page), err)
			}
			for _, e := range page {
				got = append(got, string(e.ID))
			}
			if cursor = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"alpha", "mid", "zeta", "local"}, got); diff != "" {
			t.Errorf("with limit %d (-want +got):\n%s", limit, diff)
		}
	}
}

func TestChangesNeedTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	p.environment("e", func(*berth.Environment) {})
	e, err := p.FindEnvironment(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.CreateEnvironment(t.Context(), e.Environment)
	wantCode(t, "CreateEnvironment of what exists", err, berth.CodeConflict)
	next, err := p.ReplaceEnvironment(t.Context(), e.Environment, e.Version)
	if err != nil || next.Version == e.Version {
		t.Fatalf("ReplaceEnvironment() = %+v, %v", next, err)
	}
	_, err = p.ReplaceEnvironment(t.Context(), e.Environment, e.Version)
	wantCode(t, "ReplaceEnvironment of an old version", err, berth.CodeStale)
	wantCode(t, "DeleteEnvironment of an old version", p.DeleteEnvironment(t.Context(), "e", e.Version), berth.CodeStale)
	if err := p.DeleteEnvironment(t.Context(), "e", next.Version); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "DeleteEnvironment again", p.DeleteEnvironment(t.Context(), "e", next.Version), berth.CodeNotFound)
	_, err = p.ReplaceEnvironment(t.Context(), e.Environment, 1)
	wantCode(t, "ReplaceEnvironment of what is gone", err, berth.CodeNotFound)
	bad := e.Environment
	bad.Env = map[string]string{"A=B": "x"}
	_, err = p.CreateEnvironment(t.Context(), bad)
	wantCode(t, "CreateEnvironment of nonsense", err, berth.CodeInvalid)
}

func TestEveryCheckIsInEveryReportAndNamesItsProblem(t *testing.T) {
	t.Parallel()
	local := func(p *plane) berth.RunRequest { return p.request("true") }
	for name, c := range map[string]struct {
		set   func(*plane)
		req   func(*plane) berth.RunRequest
		check string // that is an error; empty when all is well
	}{
		"all is well":            {req: local},
		"no command":             {req: func(p *plane) berth.RunRequest { return p.request() }, check: "request"},
		"an unknown environment": {req: func(*plane) berth.RunRequest { return berth.RunRequest{Environment: "x", Command: []string{"true"}} }, check: "environment"},
		"a provider that is off": {
			set: func(p *plane) { p.environment("e", func(e *berth.Environment) { e.Provider = berth.ProviderDocker }) },
			req: func(*plane) berth.RunRequest { return berth.RunRequest{Environment: "e", Command: []string{"true"}} }, check: "provider",
		},
		"a setting that cannot be": {
			set: func(p *plane) { p.environment("e", func(e *berth.Environment) { e.Network.Mode = berth.NetworkBlock }) },
			req: func(*plane) berth.RunRequest { return berth.RunRequest{Environment: "e", Command: []string{"true"}} }, check: "settings",
		},
		"a target that local does not take": {
			req: func(p *plane) berth.RunRequest {
				r := p.request("true")
				r.Target = &berth.Target{Kind: berth.TargetNone}
				return r
			}, check: "target",
		},
		"no directory": {
			req: func(*plane) berth.RunRequest {
				return berth.RunRequest{Environment: "local", Command: []string{"true"}}
			}, check: "directory",
		},
		"a missing variable": {
			set: func(p *plane) {
				p.environment("e", func(e *berth.Environment) { e.Env = map[string]string{"A": "{{ vars.ABSENT }}"} })
			},
			req: func(p *plane) berth.RunRequest {
				r := p.request("true")
				r.Environment = "e"
				return r
			}, check: "variables",
		},
		"a missing secret": {
			set: func(p *plane) {
				p.environment("e", func(e *berth.Environment) { e.Env = map[string]string{"A": "{{ secrets.ABSENT }}"} })
			},
			req: func(p *plane) berth.RunRequest {
				r := p.request("true")
				r.Environment = "e"
				return r
			}, check: "secrets",
		},
		"a provider that does not answer": {
			set: func(p *plane) { p.provider.Fail("Describe", berth.Errorf(berth.CodeUnavailable, "no answer")) }, req: local, check: "reachability",
		},
		"a file with an unknown key": {
			req: func(p *plane) berth.RunRequest {
				r := p.request("true")
				r.Configs = []berth.ConfigFile{{Kind: berth.ConfigProject, Path: "p.toml", Source: "[run]\nworking_dri = \"x\"\n"}}
				return r
			}, check: "request",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			if c.set != nil {
				c.set(p)
			}
			report, err := p.Preflight(t.Context(), c.req(p), true)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, check := range report.Checks {
				names = append(names, check.Name)
				if (check.Status == berth.CheckError) != (check.Name == c.check) {
					t.Errorf("check %s is %s: %s", check.Name, check.Status, check.Summary)
				}
				if check.Summary == "" || check.Details == nil {
					t.Errorf("check %s says %q with %v", check.Name, check.Summary, check.Details)
				}
			}
			want := []string{"request", "environment", "provider", "settings", "target", "directory", "variables", "secrets", "reachability"}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
			if report.OK != (c.check == "") {
				t.Errorf("OK = %v", report.OK)
			}
			if n := p.provider.Calls("Provision"); n != 0 {
				t.Errorf("%d sandboxes were made", n)
			}
		})
	}
}

func TestSettingsThatAreIgnoredAreWarnedOf(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	cpu := 2
	p.environment("e", func(e *berth.Environment) { e.Resources.CPU = &cpu })
	report, err := p.CheckEnvironment(t.Context(), "e")
	if err != nil || !report.OK || report.Environment == nil || report.Environment.ID != "e" {
		t.Fatalf("CheckEnvironment() = %+v, %v", report, err)
	}
	for _, check := range report.Checks {
		if check.Name == "settings" && (check.Status != berth.CheckWarning || fmt.Sprint(check.Details) == "[]") {
			t.Errorf("settings are %s: %v", check.Status, check.Details)
		}
	}
	_, err = p.CheckEnvironment(t.Context(), "nowhere")
	wantCode(t, "CheckEnvironment of nothing", err, berth.CodeNotFound)
}
