package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

func (f *fake) mustEnvironment(id string) berth.Environment {
	f.t.Helper()
	e, _, ok := f.environment(id)
	if !ok {
		f.t.Fatalf("environment %s is not there", id)
	}
	return e
}

func TestEnvCreateFromFlags(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	c.write("Dockerfile", "FROM x\n")
	c.ok("env", "create", "cloud", "--provider", "daytona", "--dockerfile", "Dockerfile", "--cpu", "4", "--memory", "8GB", "--disk", "20GB",
		"--network", "cidr_allow_list", "--allow", "10.0.0.0/8", "--allow", "192.0.2.0/24", "--preserve", "--stop-on-terminal=false",
		"--auto-stop", "30m", "--label", "repo=o/r", "--env", "A={{ vars.X }}", "--env", "EMPTY=")
	e := f.mustEnvironment("cloud")
	cpu, memory, disk, stop := 4, berth.Size("8GB"), berth.Size("20GB"), berth.Duration("30m")
	want := berth.NormalizeEnvironment(berth.Environment{
		ID: "cloud", Provider: berth.ProviderDaytona, Image: berth.Image{Dockerfile: &berth.Dockerfile{Type: "inline", Value: "FROM x\n"}},
		Resources: berth.Resources{CPU: &cpu, Memory: &memory, Disk: &disk},
		Network:   berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"10.0.0.0/8", "192.0.2.0/24"}},
		Lifecycle: berth.Lifecycle{Preserve: true, AutoStop: &stop},
		Labels:    map[string]string{"repo": "o/r"}, Env: map[string]string{"A": "{{ vars.X }}", "EMPTY": ""},
	})
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestEnvCreateFromAFileOrStandardInput(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	c.write("sub/Dockerfile", "FROM y\n")
	c.write("sub/a.toml", "provider = \"daytona\"\n[image]\ndockerfile = { path = \"Dockerfile\" }\n[env]\nA = \"1\"\n")
	c.ok("env", "create", "a", "--file", "sub/a.toml", "--env", "B=2")
	e := f.mustEnvironment("a")
	if e.Image.Dockerfile == nil || e.Image.Dockerfile.Value != "FROM y\n" || e.Env["A"] != "1" || e.Env["B"] != "2" {
		t.Errorf("environment a = %+v", e)
	}
	c.input("provider = \"local\"\ncwd = \"/srv\"\n").ok("env", "create", "b", "--file", "-")
	c.input(` {"id": "other", "provider": "local", "cwd": "/srv"}`).ok("env", "create", "c", "--file", "-")
	if b, c := f.mustEnvironment("b"), f.mustEnvironment("c"); *b.CWD != "/srv" || *c.CWD != "/srv" {
		t.Errorf("environments b, c = %+v, %+v", b, c)
	}
}

func TestEnvCreateRefusesBadInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		input  string
		status int
		want   string
	}{
		"no provider":          {[]string{"x"}, "", 2, "provider: is missing"},
		"no name":              {nil, "", 2, "name is missing"},
		"an unknown key":       {[]string{"x", "-f", "-"}, "provider = \"local\"\nmemorry = 1\n", 2, "memorry"},
		"a key twice":          {[]string{"x", "-f", "-"}, "provider = \"local\"\nprovider = \"local\"\n", 2, "malformed: reading standard input"},
		"trailing garbage":     {[]string{"x", "-f", "-"}, `{"provider": "local"} x`, 2, "behind the JSON document"},
		"a file not there":     {[]string{"x", "-f", "nope.toml"}, "", 4, "not_found: reading nope.toml"},
		"a Dockerfile nowhere": {[]string{"x", "-f", "-"}, "provider = \"daytona\"\nimage = { dockerfile = { path = \"gone\" } }\n", 4, "gone"},
		"a catalogue":          {[]string{"x", "-f", "-"}, "[environments.a]\n", 2, "env import"},
		"one that exists":      {[]string{"local", "-p", "local"}, "", 5, "exists"},
		"a size without unit":  {[]string{"x", "-p", "docker", "--memory", "512"}, "", 2, "resources.memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			r := newCLI(t, f.URL).input(test.input).run(append([]string{"env", "create"}, test.args...)...)
			if r.status != test.status {
				t.Errorf("berth env create %q = %d, want %d", test.args, r.status, test.status)
			}
			mustContain(t, "stderr", r.stderr, test.want)
		})
	}
}

func TestEnvEditByFlags(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "ci", "provider": "docker", "cwd": "/x", "env": map[string]any{"A": "1", "B": "2"}})
	c := newCLI(t, f.URL)
	c.ok("env", "edit", "ci", "--set", "resources.cpu=3", "--set", "resources.memory=8GB", "--set", "env.A=x=y", "--set", "labels.a.b=c",
		"--set", "lifecycle.preserve=true", "--unset", "env.B", "--unset", "cwd")
	e := f.mustEnvironment("ci")
	if *e.Resources.CPU != 3 || *e.Resources.Memory != "8GB" || !e.Lifecycle.Preserve || e.CWD != nil ||
		!cmp.Equal(e.Env, map[string]string{"A": "x=y"}) || e.Labels["a.b"] != "c" {
		t.Errorf("environment = %+v", e)
	}
	c.ok("env", "edit", "ci", "--patch", `{"network": {"mode": "block"}}`)
	if e := f.mustEnvironment("ci"); e.Network.Mode != berth.NetworkBlock {
		t.Errorf("network = %+v, want block", e.Network)
	}
	if r := c.run("env", "edit", "ci", "--patch", `{"network": `); r.status != 2 {
		t.Errorf("half a patch = %d, want 2", r.status)
	}
	if r := c.run("env", "edit", "ci", "--set", "a=b", "--patch", "{}"); r.status == 0 {
		t.Error("--set with --patch was taken")
	}
}

func TestEnvEditNeverOverwritesAnothersChange(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "ci", "provider": "docker"})
	f.refuse = func(method, path string) *problem {
		if method == "PATCH" { // somebody is faster
			f.mu.Lock()
			defer f.mu.Unlock()
			f.putEnvironment(map[string]any{"id": "ci", "provider": "docker", "env": map[string]any{"THEIRS": "1"}})
		}
		return nil
	}
	r := newCLI(t, f.URL).run("env", "edit", "ci", "--set", "env.OURS=1")
	if e := f.mustEnvironment("ci"); r.status != 5 || e.Env["OURS"] != "" || e.Env["THEIRS"] != "1" {
		t.Errorf("berth env edit = %d, env %v; want 5 and their change", r.status, e.Env)
	}
}

// editor is a script that stands for a person's editor.
func (c *cli) editor(script string) {
	path := c.write("editor.sh", "#!/bin/sh\n"+script)
	if err := os.Chmod(path, 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.env["EDITOR"] = "sh '" + path + "'"
}

func TestEnvEditInAnEditor(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "ci", "provider": "docker", "resources": map[string]any{"cpu": 2}, "env": map[string]any{"A": "1"}})
	c := newCLI(t, f.URL)

	c.editor(`sed 's/cpu = 2/cpu = 6/' "$1" > "$1.new" && mv "$1.new" "$1"`)
	c.ok("env", "edit", "ci")
	if e := f.mustEnvironment("ci"); *e.Resources.CPU != 6 || e.Env["A"] != "1" {
		t.Errorf("environment = %+v, want 6 cores and the rest as it was", e)
	}

	before := f.versions["ci"]
	c.editor(`exit 0`)
	mustContain(t, "stderr", c.ok("env", "edit", "ci").stderr, "unchanged")
	c.editor(`exit 1`)
	if r := c.run("env", "edit", "ci"); r.status != 6 || f.versions["ci"] != before {
		t.Errorf("an editor that fails = %d and version %d, want 6 and nothing changed", r.status, f.versions["ci"])
	}
	if left, err := filepath.Glob(filepath.Join(c.env["TMPDIR"], "*.toml")); err != nil || len(left) > 0 {
		t.Errorf("files without any text of the person's are left: %q, %v", left, err)
	}

	c.editor(`echo 'memorry = 1' >> "$1"`)
	r := c.run("env", "edit", "ci")
	if r.status != 2 || f.versions["ci"] != before {
		t.Errorf("a bad edit = %d and version %d, want 2 and nothing changed", r.status, f.versions["ci"])
	}
	_, rest, ok := strings.Cut(r.stderr, "your text is kept in ")
	path, _, _ := strings.Cut(rest, ";")
	if text, err := os.ReadFile(path); !ok || err != nil || !strings.Contains(string(text), "memorry = 1") {
		t.Errorf("the text is not kept: %v, stderr:\n%s", err, r.stderr)
	}
}

func TestAnEnvironmentThatDoesNotExistLeadsToTheNearestOne(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "box1", "provider": "docker"})
	c := newCLI(t, f.URL)
	for _, command := range []string{"check", "show", "edit", "rm", "export"} {
		r := c.run("env", command, "bpx1")
		if r.status != 4 {
			t.Errorf("berth env %s = %d, want 4", command, r.status)
		}
		mustContain(t, command, r.stderr, "bpx1", "did you mean box1?", "`berth env list`")
		mustNotContain(t, command, c.run("env", command, "nothing-like-it").stderr, "did you mean")
	}
}

func TestARunInAnEnvironmentThatDoesNotExistLeadsToTheNearestOne(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "box1", "provider": "docker"})
	c := newCLI(t, f.URL)
	for _, args := range [][]string{{"run"}, {"run", "--detach"}, {"preflight"}} {
		mustContain(t, strings.Join(args, " "), c.run(append(args, "-e", "bpx1", "--", "true")...).stderr, "bpx1", "did you mean box1?")
		mustNotContain(t, strings.Join(args, " "), c.run(append(args, "-e", "nothing-like-it", "--", "true")...).stderr, "did you mean")
	}
	c.env["BERTH_ENVIRONMENT"] = "bpx1"
	mustContain(t, "stderr", c.run("run", "--", "true").stderr, "did you mean box1?")
}

// What else is not there is not the environment's fault.
func TestAnEnvironmentThatExistsIsNotSaidToBeMistyped(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "box1", "provider": "docker"})
	f.putEnvironment(map[string]any{"id": "box2", "provider": "docker"})
	c, err := newCLI(t, f.URL).app(nil, nil).connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	missing := berth.Errorf(berth.CodeNotFound, "the snapshot does not exist")
	for _, id := range []berth.EnvironmentID{"box1", ""} {
		if got := nearEnvironment(t.Context(), c, id, missing); got != error(missing) {
			t.Errorf("%q: %v", id, got)
		}
	}
}

func TestEnvEditWithoutATerminalWantsFlags(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := newCLI(t, f.URL).run("env", "edit", "local")
	if r.status != 2 {
		t.Errorf("berth env edit = %d, want 2", r.status)
	}
	mustContain(t, "stderr", r.stderr, "no terminal", "--set FIELD=VALUE")
}

func TestEnvExportIsWhatImportTakes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{
		"id": "a-1", "provider": "docker", "image": map[string]any{"docker": "registry.example:5000/x@sha256:" + strings.Repeat("a", 64)},
		"env": map[string]any{"TEXT": "two\nlines\t\"quoted\" \\ 'x' \x01\n", "EMPTY": ""}, "labels": map[string]any{"dot.ted": "v", "a/b_c": "q\"w"},
	})
	f.putEnvironment(map[string]any{"id": "b", "provider": "daytona", "image": map[string]any{"dockerfile": map[string]any{"type": "inline", "value": "FROM x\nRUN \"\"\"y\"\"\"\n"}}})
	c := newCLI(t, f.URL)
	for _, args := range [][]string{{"env", "export"}, {"env", "export", "--json"}} {
		text := c.ok(args...).stdout
		mustNotContain(t, "the export", text, "environments.local")
		other := newFake(t)
		newCLI(t, other.URL).input(text).ok("env", "import", "-")
		for _, id := range []string{"a-1", "b"} {
			if diff := cmp.Diff(f.mustEnvironment(id), other.mustEnvironment(id)); diff != "" {
				t.Errorf("berth %q, environment %s (-exported +imported):\n%s", args, id, diff)
			}
		}
	}
}

func TestEnvImportMakesTheOthersWhenOneExists(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "a", "provider": "docker"})
	c := newCLI(t, f.URL)
	c.write("c.toml", "[environments.a]\nprovider = \"local\"\n[environments.b]\nprovider = \"local\"\n")
	if r := c.run("env", "import", "c.toml"); r.status != 5 {
		t.Errorf("berth env import = %d, want 5", r.status)
	}
	if a, b := f.mustEnvironment("a"), f.mustEnvironment("b"); a.Provider != berth.ProviderDocker || b.Provider != berth.ProviderLocal {
		t.Errorf("providers = %s, %s; want a as it was and b made", a.Provider, b.Provider)
	}
	c.ok("env", "import", "--replace", "c.toml")
	if a := f.mustEnvironment("a"); a.Provider != berth.ProviderLocal {
		t.Errorf("provider of a = %s, want it replaced", a.Provider)
	}
	c.write("bad.toml", "provider = \"local\"\n")
	if r := c.run("env", "import", "bad.toml"); r.status != 2 {
		t.Errorf("a file without tables = %d, want 2", r.status)
	}
}

func TestEnvShowListAndRemove(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "ci", "provider": "docker", "image": map[string]any{"docker": "x"}, "resources": map[string]any{"memory": "4GB"}})
	c := newCLI(t, f.URL)
	mustContain(t, "list", c.ok("env", "list").stdout, "ENVIRONMENT", "ci", "docker", "4GB", "allow_all", "local")
	mustContain(t, "page", c.ok("env", "show", "ci").stdout, "id = \"ci\"\nprovider = \"docker\"\n", "[resources]\nmemory = \"4GB\"\n")
	var e berth.Environment
	if err := json.Unmarshal([]byte(c.ok("env", "show", "ci", "--json").stdout), &e); err != nil || e.ID != "ci" {
		t.Errorf("env show --json = %+v, %v", e, err)
	}
	c.ok("env", "rm", "ci")
	if r := c.run("env", "show", "ci"); r.status != 4 {
		t.Errorf("env show after rm = %d, want 4", r.status)
	}
}

func TestChecksDecideTheStatus(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.preflight = berth.Preflight{
		Environment: &berth.Environment{ID: "ci", Provider: berth.ProviderLocal},
		Checks: []berth.Check{
			{Name: "provider", Status: berth.CheckPass, Summary: "is there"},
			{Name: "secrets", Status: berth.CheckError, Summary: "1 is missing", Details: []berth.Problem{{Location: "env.A", Message: "secret X does not exist"}}, Remediation: "Set it."},
		},
		Sources: map[string]string{"resources.cpu": "project"},
	}
	f.putEnvironment(map[string]any{"id": "ci", "provider": "local"})
	c := newCLI(t, f.URL)
	for _, args := range [][]string{{"env", "check", "ci"}, {"preflight", "-e", "local", "--", "true"}} {
		r := c.run(args...)
		if r.status != 2 {
			t.Errorf("berth %q = %d, want 2", args, r.status)
		}
		mustContain(t, "stdout", r.stdout, "error", "env.A: secret X does not exist", "to do: Set it.", "resources.cpu  from project")
	}
	f.preflight.OK = true
	c.ok("env", "check", "ci")
}

// Any text survives being written as TOML and read back.
func TestEnvironmentTOMLReadsBack(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`[ -~\n\r\t\x00-\x1fé😀"\\]{0,12}`)
	rapid.Check(t, func(r *rapid.T) {
		e := berth.NormalizeEnvironment(berth.Environment{
			ID: "x", Provider: berth.ProviderDocker, Lifecycle: berth.Lifecycle{StopOnTerminal: true},
			Image: berth.Image{Dockerfile: &berth.Dockerfile{Type: "inline", Value: "FROM x\n" + text.Draw(r, "dockerfile")}},
			Env:   map[string]string{"A": strings.ReplaceAll(text.Draw(r, "env"), "\x00", "")},
		})
		toml, err := environmentTOML(e, nil)
		if err != nil {
			r.Fatal(err)
		}
		tree, err := strict.TOML([]byte(toml))
		if err != nil {
			r.Fatalf("%v in\n%s", err, toml)
		}
		back, err := parseEnvironment(tree)
		if err != nil {
			r.Skip("no valid environment to begin with: " + err.Error())
		}
		if diff := cmp.Diff(e, back); diff != "" {
			r.Fatalf("(-written +read):\n%s\n%s", diff, toml)
		}
	})
}
