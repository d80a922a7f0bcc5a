package config_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
	"github.com/berth-dev/berth/shared/interpolate"
)

func ptr[T any](v T) *T { return &v }

func server(id berth.EnvironmentID, change func(*berth.Environment)) berth.Environment {
	e := berth.SeedEnvironment()
	e.ID = id
	if change != nil {
		change(&e)
	}
	return berth.NormalizeEnvironment(e)
}

// input is a server with three environments and every provider on.
func input(configs ...berth.ConfigFile) config.Input {
	return config.Input{
		Request: berth.RunRequest{Command: []string{"true"}, Configs: configs},
		Catalogue: catalogueOf(
			server("default", nil),
			server("ci", func(e *berth.Environment) {
				e.Env = map[string]string{"A": "server", "B": "server"}
				e.Labels = map[string]string{"team": "core"}
				e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"10.0.0.0/8"}}
				e.Provider = berth.ProviderDaytona
				e.Image = berth.Image{Dockerfile: &berth.Dockerfile{Type: "inline", Value: "FROM debian"}}
				e.Daytona = &berth.DaytonaOptions{Target: "eu"}
			}),
			server("host", func(e *berth.Environment) {
				e.Provider, e.Image, e.Resources = berth.ProviderLocal, berth.Image{}, berth.Resources{}
			}),
		),
		Variables: variablesOf(map[string]string{"REGION": "eu-1", "TOKEN": "{{ secrets.X }}", "BIG": strings.Repeat("x", 200_000), "NUL": "\x00"}),
		Policy:    config.Policy{Providers: berth.ProviderKinds},
	}
}

func user(source string) berth.ConfigFile {
	return berth.ConfigFile{Kind: berth.ConfigUser, Path: "/home/me/.config/berth/settings.toml", Source: source}
}

func project(source string) berth.ConfigFile {
	return berth.ConfigFile{Kind: berth.ConfigProject, Path: ".berth/project.toml", Source: source}
}

func workflow(source string) berth.ConfigFile {
	return berth.ConfigFile{Kind: berth.ConfigWorkflow, Path: ".berth/workflows/w/workflow.toml", Source: source}
}

// catalogueOf holds environments that are already read.
func catalogueOf(environments ...berth.Environment) config.Catalogue {
	byID := map[berth.EnvironmentID]berth.Environment{}
	for _, e := range environments {
		byID[e.ID] = e
	}
	return config.Catalogue{
		Find: func(id berth.EnvironmentID) (berth.Environment, bool, error) {
			e, found := byID[id]
			return e, found, nil
		},
		IDs: func() ([]berth.EnvironmentID, error) { return slices.Sorted(maps.Keys(byID)), nil },
	}
}

// variablesOf is a lookup of variables that are already read.
func variablesOf(values map[string]string) interpolate.Lookup {
	return func(name string) (string, bool, error) {
		v, found := values[name]
		return v, found, nil
	}
}

func resolve(t *testing.T, in config.Input) berth.Definition {
	t.Helper()
	r, err := config.Resolve(in)
	if err != nil {
		t.Fatalf("Resolve: %v", err)
	}
	return r
}
