package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/runner"
	"github.com/berth-dev/berth/shared/serverless"
)

func TestEveryFunctionOfTheSourceIsDeployed(t *testing.T) {
	var want []string
	for _, kind := range []string{kindAPI, kindRunner, kindEvents} {
		mains, err := filepath.Glob(filepath.Join("..", "functions", kind, "*", "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, main := range mains {
			want = append(want, kind+"/"+filepath.Base(filepath.Dir(main)))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(deployed(t).functionsByName(t)))); diff != "" {
		t.Errorf("functions of the source (-) and deployed (+):\n%s", diff)
	}
}

func TestFunctionsRunAsTheyAreBuilt(t *testing.T) {
	for context, s := range map[string]*synthesis{"arm64": deployed(t), "x86_64": equipped(t)} {
		for name, f := range s.functionsByName(t) {
			p := f.Properties
			got := []any{p["Runtime"], p["Handler"], p["Architectures"], p["TracingConfig"], flat(p["LoggingConfig"])}
			want := []any{"provided.al2023", "bootstrap", []any{context}, map[string]any{"Mode": "Active"}}
			if diff := cmp.Diff(want, got[:4]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if !strings.Contains(flat(p["LoggingConfig"]), "Logs") {
				t.Errorf("%s logs to %v", name, p["LoggingConfig"])
			}
			if n := f.Properties["FunctionName"].(string); len(n) > 64 {
				t.Errorf("%s is longer than Lambda takes", n)
			}
		}
		groups := s.all("AWS::Logs::LogGroup")
		if len(groups) != 4 {
			t.Errorf("there are %d log groups, want one each for API, runner, machine and access", len(groups))
		}
		for id, group := range groups {
			if group.Properties["RetentionInDays"] != 90.0 {
				t.Errorf("%s keeps logs for %v days", id, group.Properties["RetentionInDays"])
			}
		}
	}
}

func TestFunctionsHaveTheTimeThatTheyNeed(t *testing.T) {
	definition, err := runner.Definition(nil)
	if err != nil {
		t.Fatal(err)
	}
	var machine struct {
		States map[string]struct{ TimeoutSeconds float64 }
	}
	if err := json.Unmarshal(definition, &machine); err != nil {
		t.Fatal(err)
	}
	functions := deployed(t).functionsByName(t)
	seconds := func(name string) float64 { return functions[name].Properties["Timeout"].(float64) }
	for name, task := range tasks {
		if got, most := seconds("runner/"+task.folder), machine.States[name].TimeoutSeconds; got > most || got < 30 {
			t.Errorf("%s has %v s, its state %v s", name, got, most)
		}
	}
	if got := seconds("runner/follow"); got < 60 {
		t.Errorf("Follow has %v s: it stays with a command for 50", got)
	}
	for name := range functions {
		if strings.HasPrefix(name, "api/") && seconds(name) > 29 {
			t.Errorf("%s has %v s, the gateway waits for 29", name, seconds(name))
		}
	}
}

func TestFunctionsAreToldWhatTheyRead(t *testing.T) {
	lambda := map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}
	for context, s := range map[string]*synthesis{"defaults": deployed(t), "everything": equipped(t)} {
		for name, f := range s.functionsByName(t) {
			read := map[string]bool{}
			told := f.Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
			v, err := serverless.ReadVariables(func(name string) (string, bool) {
				if value, ok := lambda[name]; ok {
					return value, true
				}
				value, ok := told[name]
				read[name] = ok
				return flat(value), ok
			})
			if err != nil {
				t.Errorf("%s: %s does not start: %v", context, name, err)
			}
			for variable := range told {
				if !read[variable] {
					t.Errorf("%s: %s is told %s, which it does not read", context, name, variable)
				}
			}
			if v.Table != "{Table}" || v.Bucket != "{Bucket}" || !strings.HasSuffix(v.StateMachine, ":stateMachine:berth-"+string(v.Installation)+"-runs") {
				t.Errorf("%s: %s has the variables %+v", context, name, v)
			}
			if context == "everything" && (v.PublicURL != "https://api.example.com" || v.MaxLiveRuns != 20 || v.DefaultEnvironment != "ci" || v.Installation != "prod" ||
				v.DaytonaURL != "https://daytona.example.com/api" || v.SpritesURL != "https://sprites.example.com") {
				t.Errorf("%s lacks what the context says: %+v", name, v)
			}
		}
	}
}
