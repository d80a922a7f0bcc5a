package config_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
)

// settings are some fields of an environment table, as TOML texts.
var settings = rapid.MapOfN(
	rapid.SampledFrom([]string{"resources.cpu", "resources.memory", "lifecycle.preserve", "env.A", "env.B", "labels.a", "labels.b", "docker.pool_size"}),
	rapid.IntRange(1, 9), 0, 5)

func toml(table string, fields map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]\n", table)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		n := fields[key]
		value := fmt.Sprint(n)
		switch {
		case key == "resources.memory":
			value = fmt.Sprintf("\"%dGB\"", n)
		case key == "lifecycle.preserve":
			value = fmt.Sprint(n%2 == 0)
		case strings.HasPrefix(key, "env."), strings.HasPrefix(key, "labels."):
			value = fmt.Sprintf("\"%d\"", n)
		}
		fmt.Fprintf(&b, "%s = %s\n", key, value)
	}
	return b.String()
}

// layerTexts is every place that can set a field, weakest first.
var layerNames = []string{"user", "project", "workflow", "user override", "project override", "workflow override"}

func fromLayers(layers [6]map[string]int) config.Input {
	file := func(i int) string {
		return toml("environments.default", layers[i]) + toml("run.environment", layers[i+3])
	}
	return input(user(file(0)), project(file(1)), workflow(file(2)))
}

func TestMergingSeveralLayersEqualsTheStrongestValueOfEachField(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var layers [6]map[string]int
		flat := map[string]int{}
		for i := range layers {
			layers[i] = settings.Draw(t, layerNames[i])
			maps.Copy(flat, layers[i])
		}
		got, err := config.Resolve(fromLayers(layers))
		if err != nil {
			t.Fatalf("Resolve: %v", err)
		}
		want, err := config.Resolve(input(project(toml("environments.default", flat))))
		if err != nil {
			t.Fatalf("Resolve of the flat layer: %v", err)
		}
		if diff := cmp.Diff(want.Environment, got.Environment); diff != "" {
			t.Errorf("Environment (-flat +layers)\n%s", diff)
		}
	})
}

func TestEveryFieldNamesTheStrongestLayerThatSetIt(t *testing.T) {
	t.Parallel()
	kinds := []berth.ConfigKind{berth.ConfigUser, berth.ConfigProject, berth.ConfigWorkflow}
	rapid.Check(t, func(t *rapid.T) {
		var layers [6]map[string]int
		strongest := map[string]berth.ConfigKind{}
		for i := range layers {
			layers[i] = settings.Draw(t, layerNames[i])
			for key := range layers[i] {
				strongest[key] = kinds[i%3]
			}
		}
		r, err := config.Resolve(fromLayers(layers))
		if err != nil {
			t.Fatalf("Resolve: %v", err)
		}
		for key, kind := range strongest {
			if got := r.EnvironmentFrom[key]; !strings.HasPrefix(got, string(kind)+" (") {
				t.Errorf("%s is from %q, want the %s file", key, got, kind)
			}
		}
	})
}

func TestAnEmptyLayerChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := settings.Draw(t, "fields")
		plain, err := config.Resolve(input(project(toml("environments.default", fields))))
		if err != nil {
			t.Fatal(err)
		}
		padded, err := config.Resolve(input(user("_version = 1\n"), project(toml("environments.default", fields)), workflow("[environments.default]\n[run.environment]\n")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, padded); diff != "" {
			t.Errorf("Definition (-plain +padded)\n%s", diff)
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("[run.environment]\nid = \"ci\"\n[run.environment.env]\nA = \"{{ vars.REGION }}\"\n")
	f.Add("[environments.x]\nprovider = \"ssh\"\n[[run.prepare.steps]]\nscript = \"x\"\n")
	f.Add("environments = [1]\nrun = 2\n")
	f.Add("[environments.x.image]\ndockerfile = { path = \"D\" }\n[run]\nenvironment = { id = \"x\", provider = \"daytona\" }\n")
	f.Add("[run.environment]\nnetwork = []\nimage = 1\ndocker = \"x\"\n")
	f.Fuzz(func(t *testing.T, source string) {
		r, err := config.Resolve(input(project(source)))
		if err != nil {
			if berth.CodeOf(err) == berth.CodeInternal {
				t.Fatalf("Resolve(%q): uncoded %v", source, err)
			}
			return
		}
		if problems := berth.ValidateEnvironment(r.Environment); len(problems) > 0 {
			t.Fatalf("Resolve(%q) let through %v", source, problems)
		}
	})
}
