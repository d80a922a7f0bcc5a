package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
)

func TestAnEmptyRequestRunsTheSeededDefault(t *testing.T) {
	t.Parallel()
	r := resolve(t, input())
	want := berth.Definition{
		Environment: berth.SeedEnvironment(),
		Target:      berth.Target{Kind: berth.TargetNone},
		Clone:       berth.Clone{Enabled: true, Depth: 100},
		Command:     []string{"true"},
		Labels:      map[string]string{},
		EnvironmentFrom: map[string]string{
			"provider": "server", "image.docker": "server", "resources.cpu": "server", "resources.memory": "server",
			"network.mode": "server", "network.allow": "server", "lifecycle.preserve": "server", "lifecycle.stop_on_terminal": "server",
		},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("Definition (-want +got)\n%s", diff)
	}
}

func TestTheStrongestLayerThatNamesAnEnvironmentSelectsIt(t *testing.T) {
	t.Parallel()
	name := func(id string) string { return "[run.environment]\nid = \"" + id + "\"\n" }
	all := []berth.ConfigFile{workflow(name("w")), user(name("u")), project(name("p"))}
	environments := catalogueOf(server("w", nil), server("p", nil), server("u", nil), server("s", nil), server("r", nil), server("default", nil))
	for _, c := range []struct {
		configs []berth.ConfigFile
		server  berth.EnvironmentID
		request string
		want    berth.EnvironmentID
	}{
		{all, "s", "r", "r"}, {all, "s", "", "w"}, {all[1:], "s", "", "p"}, {all[1:2], "s", "", "u"}, {nil, "s", "", "s"}, {nil, "", "", "default"},
	} {
		in := input(c.configs...)
		in.Catalogue, in.ServerDefault, in.Request.Environment = environments, c.server, c.request
		if got := resolve(t, in).Environment.ID; got != c.want {
			t.Errorf("selected %s, want %s", got, c.want)
		}
	}
}

func TestLayersMergeFieldByFieldAndEnvAndLabelsByKey(t *testing.T) {
	t.Parallel()
	in := input(
		workflow("[run.environment]\nid = \"ci\"\n[environments.ci.resources]\nmemory = \"3GB\"\n[environments.ci.env]\nC = \"workflow\"\n"),
		project("[environments.ci.resources]\nmemory = \"2GB\"\ndisk = \"20GB\"\n[environments.ci.env]\nB = \"project\"\n[environments.ci.network]\nallow = [\"192.168.0.0/16\"]\n"),
		user("[environments.ci.resources]\nmemory = \"1GB\"\n[environments.ci.env]\nB = \"user\"\nD = \"user\"\n[run.environment.env]\nE = \"override\"\n[run.environment.lifecycle]\nauto_stop = \"30m\"\n[environments.ci.labels]\nteam = \"mine\"\nextra = \"x\"\n"),
	)
	in.Request.PreserveSandbox = ptr(true)
	r := resolve(t, in)
	want := server("ci", func(e *berth.Environment) {
		e.Provider = berth.ProviderDaytona
		e.Image = berth.Image{Dockerfile: &berth.Dockerfile{Type: "inline", Value: "FROM debian"}}
		e.Resources.Memory, e.Resources.Disk = ptr(berth.Size("3GB")), ptr(berth.Size("20GB"))
		e.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"192.168.0.0/16"}}
		e.Lifecycle = berth.Lifecycle{Preserve: true, StopOnTerminal: true, AutoStop: ptr(berth.Duration("30m"))}
		e.Labels = map[string]string{"team": "mine", "extra": "x"}
		e.Env = map[string]string{"A": "server", "B": "project", "C": "workflow", "D": "user", "E": "override"}
		e.Daytona = &berth.DaytonaOptions{Target: "eu"}
	})
	if diff := cmp.Diff(want, r.Environment); diff != "" {
		t.Errorf("Environment (-want +got)\n%s", diff)
	}
	const settings = "user (/home/me/.config/berth/settings.toml:"
	from := map[string]string{
		"provider": "server", "image.dockerfile": "server", "resources.cpu": "server",
		"resources.memory": "workflow (.berth/workflows/w/workflow.toml:4)", "resources.disk": "project (.berth/project.toml:3)",
		"network.mode": "project (.berth/project.toml:6)", "network.allow": "project (.berth/project.toml:7)",
		"lifecycle.preserve": "request", "lifecycle.stop_on_terminal": "server", "lifecycle.auto_stop": settings + "9)",
		"labels.team": settings + "11)", "labels.extra": settings + "12)",
		"env.A": "server", "env.B": "project (.berth/project.toml:5)", "env.C": "workflow (.berth/workflows/w/workflow.toml:6)",
		"env.D": settings + "5)", "env.E": settings + "7)", "daytona.target": "server",
	}
	if diff := cmp.Diff(from, r.EnvironmentFrom); diff != "" {
		t.Errorf("Sources (-want +got)\n%s", diff)
	}
}

func TestOverridesBeatTheCatalogueAndTouchTheSelectedEnvironmentAlone(t *testing.T) {
	t.Parallel()
	in := input(
		workflow("[environments.default.resources]\nmemory = \"8GB\"\n"),
		user("[run.environment.resources]\nmemory = \"1GB\"\n"),
	)
	if got := *resolve(t, in).Environment.Resources.Memory; got != "1GB" {
		t.Errorf("memory = %s, want the override's 1GB", got)
	}
	in.Request.Environment = "ci"
	if got := *resolve(t, in).Environment.Resources.Memory; got != "1GB" {
		t.Errorf("memory of ci = %s, want the override's 1GB", got)
	}
}

func TestACatalogueEntryMayBeNew(t *testing.T) {
	t.Parallel()
	in := input(project("[run.environment]\nid = \"mine\"\n[environments.mine]\nprovider = \"docker\"\nimage.docker = \"debian:13\"\n"))
	r := resolve(t, in)
	want := server("mine", func(e *berth.Environment) {
		e.Image.Docker, e.Resources = ptr("debian:13"), berth.Resources{}
	})
	if diff := cmp.Diff(want, r.Environment); diff != "" {
		t.Errorf("Environment (-want +got)\n%s", diff)
	}
	from := map[string]string{
		"provider": "project (.berth/project.toml:4)", "image.docker": "project (.berth/project.toml:5)",
		"network.mode": "built-in", "lifecycle.preserve": "built-in", "lifecycle.stop_on_terminal": "built-in",
	}
	if diff := cmp.Diff(from, r.EnvironmentFrom); diff != "" {
		t.Errorf("Sources (-want +got)\n%s", diff)
	}
}

func TestALayerThatChangesTheProviderTakesTheOldOnesObjectsAway(t *testing.T) {
	t.Parallel()
	in := input(project("[run.environment]\nid = \"ci\"\nprovider = \"ssh\"\nnetwork.mode = \"allow_all\"\n[run.environment.ssh]\ndestination = \"box\"\nworking_directory = \"/w\"\n"))
	e := resolve(t, in).Environment
	if e.Daytona != nil || e.SSH == nil || e.SSH.Destination != "box" || len(e.Network.Allow) != 0 {
		t.Errorf("Environment = %+v, want ssh without the daytona object and the list", e)
	}
}

func TestDockerfilesInTOMLBecomeInline(t *testing.T) {
	t.Parallel()
	const head = "[run.environment]\nid = \"x\"\n[environments.x]\nprovider = \"daytona\"\n[environments.x.image]\n"
	for name, source := range map[string]string{
		"a text":      "dockerfile = \"FROM debian\"\n",
		"a path":      "dockerfile = { path = \"Dockerfile\" }\n",
		"an object":   "dockerfile = { type = \"inline\", value = \"FROM debian\" }\n",
		"a sub-table": "[environments.x.image.dockerfile]\npath = \"Dockerfile\"\n",
	} {
		file := project(head + source)
		file.Files = map[string]string{"Dockerfile": "FROM debian"}
		got := resolve(t, input(file)).Environment.Image.Dockerfile
		if diff := cmp.Diff(&berth.Dockerfile{Type: "inline", Value: "FROM debian"}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestRunSettingsMergeAndTheRequestIsStrongest(t *testing.T) {
	t.Parallel()
	in := input(
		user("[run]\nworking_dir = \"a\"\ntimeout = \"1h\"\n[run.clone]\nenabled = false\ndepth = 5\n[run.labels]\nx = \"user\"\ny = \"user\"\n[[run.prepare.steps]]\nscript = \"old\"\n"),
		project("[run]\nworking_dir = \"b/./c/\"\n[run.clone]\ndepth = 0\n[run.labels]\nx = \"project\"\n[[run.prepare.steps]]\nname = \"set up\"\nscript = \"make\"\nenv = { R = \"{{ vars.REGION }}-{{ secrets.S }}\" }\n[[run.prepare.steps]]\ncommand = [\"go\", \"build\"]\ntimeout = \"1m\"\n"),
	)
	in.Request.Timeout, in.Request.Labels = "10m", map[string]string{"x": "request", "z": "request"}
	d := resolve(t, in)
	want := berth.Definition{
		WorkingDir: "b/c", Clone: berth.Clone{Enabled: false, Depth: 0}, Timeout: "10m",
		Labels: map[string]string{"x": "request", "y": "user", "z": "request"},
		Prepare: []berth.Step{
			{Name: "set up", Script: "make", Env: map[string]string{"R": "eu-1-{{ secrets.S }}"}, Timeout: "5m"},
			{Command: []string{"go", "build"}, Timeout: "1m"},
		},
	}
	got := berth.Definition{WorkingDir: d.WorkingDir, Clone: d.Clone, Timeout: d.Timeout, Labels: d.Labels, Prepare: d.Prepare}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Definition (-want +got)\n%s", diff)
	}
}

func TestVariablesAreReplacedAndSecretsStayTokens(t *testing.T) {
	t.Parallel()
	in := input(project("[run.environment.env]\nURL = \"https://{{ vars.REGION }}.example\"\nKEY = \"{{ secrets.KEY }}\"\nTEXT = \"{{ goal }}\"\n"))
	want := map[string]string{"URL": "https://eu-1.example", "KEY": "{{ secrets.KEY }}", "TEXT": "{{ goal }}"}
	if diff := cmp.Diff(want, resolve(t, in).Environment.Env); diff != "" {
		t.Errorf("Env (-want +got)\n%s", diff)
	}
}

func TestWhatTheProviderIgnoresIsAWarningAtItsPlace(t *testing.T) {
	t.Parallel()
	in := input(project("[run.environment.resources]\ndisk = \"20GB\"\n"))
	in.Catalogue = catalogueOf(server("default", func(e *berth.Environment) { e.CWD = ptr("/srv") }))
	r := resolve(t, in)
	want := []berth.Problem{
		{Location: ".berth/project.toml:2: run.environment.resources.disk", Message: "is ignored: the docker provider sets no disk limit"},
		{Location: "environment.cwd", Message: "is ignored: the docker provider has its own workspace; use run.working_dir for a directory in it"},
	}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Errorf("Warnings (-want +got)\n%s", diff)
	}
}

func TestLocalRunsTakeTheirDirectoryByTheRules(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	in := input()
	in.Request.Environment, in.Request.SourceDirectory = "local", dir
	d := resolve(t, in)
	if d.Directory != dir || d.Target != (berth.Target{}) || d.Environment.ID != "local" || d.Environment.Provider != berth.ProviderLocal {
		t.Errorf("source directory: %q, target %+v", d.Directory, d.Target)
	}
	in.Request.Target = &berth.Target{Kind: berth.TargetFolder, Path: filepath.Join(dir, "link", ".")}
	d = resolve(t, in)
	if d.Directory != dir || d.Target.Path != dir {
		t.Errorf("folder: %q, target %+v; want the canonical path in both", d.Directory, d.Target)
	}
	in.Request.Target, in.Request.SourceDirectory = nil, filepath.Join(dir, "gone")
	_, err = config.Resolve(in)
	if !errors.Is(err, berth.ErrDirectoryMissing) || berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("a source that is not there: %v", err)
	}
}

func TestGitTargetsAreStoredInOneSpelling(t *testing.T) {
	t.Parallel()
	in := input()
	in.Request.Target = &berth.Target{Kind: berth.TargetGit, Origin: "git@github.com:o/r.git", Branch: "main", SHA: strings.Repeat("AB", 20)}
	want := berth.Target{Kind: berth.TargetGit, Origin: "https://github.com/o/r.git", Branch: "main", SHA: strings.Repeat("ab", 20)}
	if diff := cmp.Diff(want, resolve(t, in).Target); diff != "" {
		t.Errorf("Target (-want +got)\n%s", diff)
	}
}

func TestAStoreThatDoesNotAnswerIsNoFaultOfTheInput(t *testing.T) {
	t.Parallel()
	down := berth.Errorf(berth.CodeUnavailable, "the table does not answer")
	in := input()
	in.Catalogue.Find = func(berth.EnvironmentID) (berth.Environment, bool, error) { return berth.Environment{}, false, down }
	if _, err := config.Resolve(in); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("catalogue down: %v", err)
	}
	in = input(project("[run.environment.env]\nA = \"{{ vars.X }}\"\n"))
	in.Variables = func(string) (string, bool, error) { return "", false, down }
	if _, err := config.Resolve(in); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("variables down: %v", err)
	}
	in = input()
	in.Request.Environment = "gone"
	in.Catalogue.IDs = func() ([]berth.EnvironmentID, error) { return nil, down }
	if _, err := config.Resolve(in); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("list down: %v", err)
	}
}
