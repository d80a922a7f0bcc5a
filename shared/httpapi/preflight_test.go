package httpapi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
)

// asked is a provider of other people's machines that notes which it connects to.
type asked struct {
	berth.Provider
	hosts []string
}

func (*asked) Kind() berth.ProviderKind { return berth.ProviderSSH }

func (a *asked) Ask(_ context.Context, e berth.Environment) (string, bool, error) {
	a.hosts = append(a.hosts, e.SSH.Destination+" "+e.SSH.ConfigFile)
	return "the host answers", true, nil
}

func TestAMachineThatARequestNamesIsAskedForAKeyThatMayRunAlone(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		machines := &asked{}
		plane := &control.Plane{
			Records: f.store, Providers: control.NewProviders(machines), Secrets: f.secrets,
			IDs: f.cfg.IDs, Clock: f.clock, Installation: "inst", Logger: f.cfg.Logger,
		}
		f.plane.preflight, f.plane.checkEnvironment = plane.Preflight, plane.CheckEnvironment
		c.want(201, "POST /environments", `{"id":"box","provider":"ssh","ssh":{"destination":"box","working_directory":"/srv/work"}}`)
		_, reader := f.issue(berth.Key{Name: "reader", Scopes: []berth.Scope{berth.ScopeRead}})
		_, runner := f.issue(berth.Key{Name: "runner", Scopes: []berth.Scope{berth.ScopeRead, berth.ScopeRun}})
		const notAsked = "no host was asked: that needs a key with the scope run"
		preflight := func(environment, source string) string {
			body := map[string]any{"environment": environment, "command": []string{"true"}, "target": map[string]any{"kind": "none"}}
			if source != "" {
				body["configs"] = []berth.ConfigFile{{Kind: berth.ConfigProject, Path: ".berth/project.toml", Source: source}}
			}
			raw, err := json.Marshal(body)
			must(t, err)
			return string(raw)
		}
		// In their order, as the answers of both ways are compared.
		for _, ask := range []struct {
			name            string
			line, body, key string
			host            string // that is asked; empty for none
		}{
			{
				"a host of the request, by who may read",
				"POST /preflight", preflight("mine", "[environments.mine]\nprovider = \"ssh\"\n[environments.mine.ssh]\ndestination = \"10.0.0.1\"\nworking_directory = \"/w\"\n"), reader, "",
			},
			{
				"a host of the request, by who may run",
				"POST /preflight", preflight("mine", "[environments.mine]\nprovider = \"ssh\"\n[environments.mine.ssh]\ndestination = \"10.0.0.1\"\nworking_directory = \"/w\"\n"), runner, "10.0.0.1 ",
			},
			{
				"another host for a stored environment, by who may read",
				"POST /preflight", preflight("box", "[run.environment.ssh]\ndestination = \"10.0.0.1\"\n"), reader, "",
			},
			{
				"another client configuration for a stored environment, by who may read",
				"POST /preflight", preflight("box", "[run.environment.ssh]\nconfig_file = \"/tmp/mine\"\n"), reader, "",
			},
			{
				"another client configuration for a stored environment, by who may run",
				"POST /preflight", preflight("box", "[run.environment.ssh]\nconfig_file = \"/tmp/mine\"\n"), runner, "box /tmp/mine",
			},
			{"a stored environment, by who may read", "POST /preflight", preflight("box", ""), reader, "box "},
			{"the check of a stored environment, by who may read", "POST /environments/box/check", "", reader, "box "},
		} {
			machines.hosts = nil
			resp := c.want(200, ask.line, ask.body, as(ask.key))
			if got := strings.Join(machines.hosts, ","); got != ask.host {
				t.Errorf("%s: connected to %q, want %q\n%s", ask.name, got, ask.host, resp.Body)
			}
			if said := strings.Contains(string(resp.Body), notAsked); said != (ask.host == "") {
				t.Errorf("%s: the report says that no host was asked: %t\n%s", ask.name, said, resp.Body)
			}
		}
	})
}
