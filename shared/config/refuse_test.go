package config_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
)

// refusal is an error as a caller shows it.
type refusal struct {
	Code     berth.Code
	Problems []berth.Problem
}

func refusalOf(t *testing.T, err error) refusal {
	t.Helper()
	var e *berth.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *berth.Error", err)
	}
	problems := e.Problems
	if problems == nil {
		problems = []berth.Problem{{Location: e.Field, Message: e.Message}}
	}
	return refusal{e.Code, problems}
}

const (
	sizeRule  = ": must be a whole number of 1 or more and a unit, such as 512MiB or 4GB (B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)"
	spanRule  = ": must be one whole number of 1 or more and one unit, such as 90s or 30m (ms, s, m, h, d)"
	slugRule  = "environment id must be 1 to 63 lower-case letters, digits and dashes, and begin with a letter or digit"
	cwdHint   = "belongs to the server: configure it in the server-managed environment, through the environments API or berth env edit"
	labelRule = "is no label name: 1 to 128 letters, digits, dots, dashes, underscores and slashes, with a letter or digit at both ends"
	renamed   = "is called [run.environment] now: define [environments.<slug>] and select it with id"
)

func TestAProjectFileIsRefusedAtTheLineOfTheFault(t *testing.T) {
	t.Parallel()
	type problems = []berth.Problem
	at := func(line int, path, message string) berth.Problem {
		return berth.Problem{Location: fmt.Sprintf(".berth/project.toml:%d: %s", line, path), Message: message}
	}
	whole := func(message string) problems { return problems{{Location: ".berth/project.toml", Message: message}} }
	for name, c := range map[string]struct {
		source string
		want   problems
	}{
		"no TOML":                     {"a = \n", whole("the document is no TOML: unexpected character U+000A at start of value (line 1, column 5)")},
		"a key twice":                 {"[run]\ntimeout = \"1m\"\ntimeout = \"2m\"\n", whole("the document is no TOML: key timeout is already defined (line 3, column 1)")},
		"a table twice":               {"[run]\n[run]\n", whole("the document is no TOML: table run already exists (line 2, column 2)")},
		"a file of 2 MiB":             {strings.Repeat("#", 2<<20), whole("has 2097152 bytes, more than 1048576")},
		"an unknown table":            {"[runn]\nx = 1\n", problems{at(1, "runn", "is not a known key: did you mean run?")}},
		"an unknown key":              {"[run]\ntimeuot = \"1m\"\n", problems{at(2, "run.timeuot", "is not a known key: did you mean timeout?")}},
		"unknown keys far off":        {"[run.clone]\nxyzzyx = 1\n", problems{at(2, "run.clone.xyzzyx", "is not a known key: there are depth, enabled")}},
		"an unknown resource":         {"\n[environments.x.resources]\nmemroy = \"4GB\"\n", problems{at(3, "environments.x.resources.memroy", "is not a known key: did you mean memory?")}},
		"an unknown step key":         {"[[run.prepare.steps]]\nscript = \"a\"\n[[run.prepare.steps]]\nscirpt = \"b\"\n", problems{at(4, "run.prepare.steps[1].scirpt", "is not a known key: did you mean script?"), at(3, "run.prepare.steps[1].command", "is missing: give a command, a list of strings, or a script")}},
		"version":                     {"version = 1\n", problems{at(1, "version", "is called _version: write _version = 1")}},
		"a newer _version":            {"_version = 2\n[future]\nx = 1\n", problems{at(1, "_version", "is newer than 1, the newest that this server reads: upgrade berth")}},
		"_version of 0":               {"_version = 0\n", problems{at(1, "_version", "must be 1")}},
		"_version as a text":          {"_version = \"1\"\n", problems{at(1, "_version", "must be a whole number, not a string")}},
		"the old sandbox table":       {"[run.sandbox]\nprovider = \"docker\"\n", problems{at(1, "run.sandbox", renamed)}},
		"the older sandbox table":     {"[sandbox]\nprovider = \"docker\"\n", problems{at(1, "sandbox", renamed)}},
		"a server table":              {"[server]\nport = 1\n", problems{at(1, "server", "belongs to the server: it is configured by the options of berth serve")}},
		"environment at the top":      {"[environment]\nid = \"x\"\n", problems{at(1, "environment", "must be below run: write [run.environment], or [environments.<slug>] for a definition")}},
		"a cli table":                 {"[cli]\nserver = \"http://evil\"\n", problems{at(1, "cli", "belongs into the user file, not into the project file")}},
		"a workflow table":            {"[workflow]\nname = \"x\"\n", problems{at(1, "workflow", "belongs into the workflow file, not into the project file")}},
		"cwd in a catalogue":          {"[environments.x]\ncwd = \"/srv\"\n", problems{at(2, "environments.x.cwd", cwdHint)}},
		"cwd in an override":          {"[run.environment]\ncwd = \"/srv\"\n", problems{at(2, "run.environment.cwd", cwdHint)}},
		"image.ref":                   {"[environments.x.image]\nref = \"debian\"\n", problems{at(2, "environments.x.image.ref", "is called image.docker")}},
		"an id in the catalogue":      {"[environments.x]\nid = \"x\"\n", problems{at(2, "environments.x.id", "is the name of the table: leave it out")}},
		"a slug in upper case":        {"[environments.CI]\nprovider = \"docker\"\n", problems{at(1, "environments.CI", slugRule)}},
		"a slug with a slash":         {"[environments.\"a/b\"]\nprovider = \"docker\"\n", problems{at(1, `environments["a/b"]`, slugRule)}},
		"a selected id in upper case": {"[run.environment]\nid = \"CI\"\n", problems{at(2, "run.environment.id", slugRule)}},
		"a selected id as a number":   {"[run.environment]\nid = 5\n", problems{at(2, "run.environment.id", "must be a string")}},
		"environment as a text":       {"[run]\nenvironment = \"ci\"\n", problems{at(2, "run.environment", "must be a table with an id: [run.environment]")}},
		"environments as a list":      {"environments = []\n", problems{at(1, "environments", "must be tables, [environments.<slug>]")}},
		"an environment as a text":    {"[environments]\nx = \"y\"\n", problems{at(2, "environments.x", "must be a table")}},
		"local as docker":             {"[environments.local]\nprovider = \"docker\"\n", problems{at(2, "environments.local.provider", "must be local: the id local is reserved for the local provider")}},
		"an unknown provider":         {"[environments.x]\nprovider = \"podman\"\n", problems{at(2, "environments.x.provider", "must be one of local, docker, daytona, ssh, exe, sprites")}},
		"memory as a number":          {"[run.environment.resources]\nmemory = 4\n", problems{at(2, "run.environment.resources.memory", "must be a string, not a number")}},
		"memory without a unit":       {"[run.environment.resources]\nmemory = \"512\"\n", problems{at(2, "run.environment.resources.memory", "has no unit"+sizeRule)}},
		"memory of -1, 0 and 1.5GB": {
			"[environments.a.resources]\nmemory = \"-1\"\n[environments.b.resources]\nmemory = \"0\"\n[environments.c.resources]\nmemory = \"1.5GB\"\n",
			problems{at(2, "environments.a.resources.memory", "has a sign"+sizeRule), at(4, "environments.b.resources.memory", "has no unit"+sizeRule), at(6, "environments.c.resources.memory", "has a fraction"+sizeRule)},
		},
		"cpu as a fraction":             {"[run.environment.resources]\ncpu = 1.5\n", problems{at(2, "run.environment.resources.cpu", "must be a whole number")}},
		"no cpu":                        {"[run.environment.resources]\ncpu = 0\n", problems{at(2, "run.environment.resources.cpu", "must be a whole number from 1 to 1024")}},
		"a CIDR without prefix":         {"[environments.x.network]\nallow = [\n  \"10.0.0.0/8\",\n  \"10.0.0.1\",\n]\n", problems{at(2, "environments.x.network.allow[1]", "has no prefix length: write a CIDR such as 10.0.0.0/8, or /32 for one address")}},
		"an unknown mode":               {"[environments.x.network]\nmode = \"none\"\n", problems{at(2, "environments.x.network.mode", "must be one of allow_all, block, cidr_allow_list")}},
		"an env name with =":            {"[environments.x.env]\n\"A=s3cret\" = \"x\"\n", problems{at(2, `environments.x.env["A=…"]`, "is no variable name: it has an equals sign; use letters, digits and underscores, not a digit first, 255 at most")}},
		"an env value as a number":      {"[run.environment.env]\nPORT = 80\n", problems{at(2, "run.environment.env.PORT", "must be a string, not a number")}},
		"a token of the process":        {"[run.environment.env]\nH = \"{{ env.HOME }}\"\n", problems{at(2, "run.environment.env.H", "refers to {{ env.HOME }}: "+berth.EnvTokenHint)}},
		"a malformed secret token":      {"[run.environment.env]\nH = \"{{ secrets.a-b }}\"\n", problems{at(2, "run.environment.env.H", "has a malformed {{ }} token: after vars. or secrets. comes one name of letters, digits and underscores, and nothing else")}},
		"a Dockerfile not sent":         {"[environments.x.image]\ndockerfile = { path = \"Dockerfile\" }\n", problems{at(2, "environments.x.image.dockerfile.path", "names a file that was not sent with the request: the server cannot see files of the client, so put its text into files, or write dockerfile as a text")}},
		"a Dockerfile with two ways":    {"[environments.x.image]\ndockerfile = { path = \"D\", value = \"x\" }\n", problems{at(2, "environments.x.image.dockerfile", "has a path and more: write { path = … } alone, or the text")}},
		"a Dockerfile path as a number": {"[environments.x.image]\ndockerfile = { path = 1 }\n", problems{at(2, "environments.x.image.dockerfile.path", "must be a string, the path of a Dockerfile")}},
		"an empty Dockerfile":           {"[environments.x.image]\ndockerfile = \"\"\n", problems{at(2, "environments.x.image.dockerfile.value", "is empty: must be the text of a Dockerfile")}},
		"an absolute working_dir":       {"[run]\nworking_dir = \"/srv\"\n", problems{at(2, "run.working_dir", "must be relative to the workspace, not absolute; the directory of a local environment is its cwd")}},
		"a working_dir that escapes":    {"[run]\nworking_dir = \"a/../../b\"\n", problems{at(2, "run.working_dir", "must not have .. in it: it may not lead out of the workspace")}},
		"a working_dir with ..":         {"[run]\nworking_dir = \"a/..\"\n", problems{at(2, "run.working_dir", "must not have .. in it: it may not lead out of the workspace")}},
		"an empty working_dir":          {"[run]\nworking_dir = \"\"\n", problems{at(2, "run.working_dir", "must be a directory relative to the workspace")}},
		"a timeout without a unit":      {"[run]\ntimeout = \"30\"\n", problems{at(2, "run.timeout", "has no unit"+spanRule)}},
		"a negative depth":              {"[run.clone]\ndepth = -1\n", problems{at(2, "run.clone.depth", "must be a whole number from 0, the full history, to 1000000")}},
		"a label with a space":          {"[run.labels]\n\"a b\" = \"x\"\n", problems{at(2, `run.labels["a b"]`, labelRule)}},
		"a step with nothing":           {"[[run.prepare.steps]]\nname = \"x\"\n", problems{at(1, "run.prepare.steps[0].command", "is missing: give a command, a list of strings, or a script")}},
		"a step with both":              {"[[run.prepare.steps]]\nscript = \"x\"\ncommand = [\"x\"]\n", problems{at(3, "run.prepare.steps[0].command", "and script exclude each other")}},
		"a step with a text command":    {"[[run.prepare.steps]]\ncommand = \"make\"\n", problems{at(2, "run.prepare.steps[0].command", "must be a list, not a string")}},
		"a step without a program":      {"[[run.prepare.steps]]\ncommand = [\"\", \"x\"]\n", problems{at(2, "run.prepare.steps[0].command[0]", "is empty: must be a program")}},
		"a step's timeout":              {"[[run.prepare.steps]]\nscript = \"x\"\ntimeout = \"1h30m\"\n", problems{at(3, "run.prepare.steps[0].timeout", "is a sum of several spans"+spanRule)}},
		"a step's env":                  {"[[run.prepare.steps]]\nscript = \"x\"\nenv = { \"1A\" = \"x\" }\n", problems{at(3, "run.prepare.steps[0].env.1A", "is no variable name: use letters, digits and underscores, not a digit first, 255 at most")}},
		"a step's long name":            {"[[run.prepare.steps]]\nscript = \"x\"\nname = \"" + strings.Repeat("n", 101) + "\"\n", problems{at(3, "run.prepare.steps[0].name", "has 101 bytes, more than 100")}},
		"steps as a table":              {"[run.prepare.steps]\nscript = \"x\"\n", problems{at(1, "run.prepare.steps", "must be a list, not an object")}},
		"everything at once": {
			"_version = 1\n[run]\ntimeout = \"x\"\nwat = 1\n[run.environment]\ncwd = \"/x\"\nid = \"A\"\n[environments.x]\nprovider = 5\nresources = { memory = \"512\", cpuu = 1 }\n",
			problems{
				at(4, "run.wat", "is not a known key: there are clone, environment, labels, prepare, timeout, working_dir"),
				at(9, "environments.x.provider", "must be a string, not a number"),
				at(10, "environments.x.resources.cpuu", "is not a known key: did you mean cpu?"),
				at(10, "environments.x.resources.memory", "has no unit"+sizeRule),
				at(6, "run.environment.cwd", cwdHint),
				at(7, "run.environment.id", slugRule),
				at(3, "run.timeout", "does not begin with a number"+spanRule),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Resolve(input(project(c.source)))
			if diff := cmp.Diff(refusal{berth.CodeInvalid, c.want}, refusalOf(t, err)); diff != "" {
				t.Errorf("Resolve (-want +got)\n%s", diff)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error holds a value: %v", err)
			}
		})
	}
}

func TestARequestIsRefusedAtItsFields(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 128*1024)
	const tooLong = "has 131072 bytes, more than the 131071 that the kernel passes to a process: put it into a file"
	for name, c := range map[string]struct {
		change   func(*berth.RunRequest)
		code     berth.Code
		at, want string
	}{
		"nothing to run":         {func(r *berth.RunRequest) { r.Command = nil }, "invalid", "command", "is missing: give a command, a list of strings, or a script"},
		"two things to run":      {func(r *berth.RunRequest) { r.Script = "x" }, "invalid", "command", "and script exclude each other"},
		"an empty program":       {func(r *berth.RunRequest) { r.Command = []string{""} }, "invalid", "command[0]", "is empty: must be a program"},
		"an argument with a NUL": {func(r *berth.RunRequest) { r.Command = []string{"x", "a\x00"} }, "invalid", "command[1]", "has a NUL, which no argument of a process can hold"},
		"a long argument":        {func(r *berth.RunRequest) { r.Command = []string{"x", long} }, "invalid", "command[1]", tooLong},
		"a long script":          {func(r *berth.RunRequest) { r.Command, r.Script = nil, long }, "invalid", "script", tooLong},
		"an environment with ..": {func(r *berth.RunRequest) { r.Environment = "../x" }, "invalid", "environment", slugRule},
		"a bad timeout":          {func(r *berth.RunRequest) { r.Timeout = "10" }, "invalid", "timeout", "has no unit" + spanRule},
		"a bad label":            {func(r *berth.RunRequest) { r.Labels = map[string]string{"": "x"} }, "invalid", `labels[""]`, labelRule},
		"a short SHA":            {func(r *berth.RunRequest) { r.Target = &berth.Target{Kind: "git", Origin: "https://h/r", SHA: "abc"} }, "invalid", "target.sha", "must be a full commit SHA of 40 hex digits; nothing shorter, and no name"},
		"a folder on docker":     {func(r *berth.RunRequest) { r.Target = &berth.Target{Kind: "folder", Path: "/x"} }, "unsupported", "target.kind", "the docker provider sees no folder of the server: use a git target or none, or an environment of provider local"},
		"git on local": {func(r *berth.RunRequest) {
			r.Environment, r.Target = "local", &berth.Target{Kind: "git", Origin: "https://h/r"}
		}, "unsupported", "target.kind", "the local provider clones nothing: use a folder target, or an environment of another provider"},
		"a local run without cwd": {func(r *berth.RunRequest) { r.Environment = "host" }, "invalid", "environment.cwd", "the run has no directory: neither a folder target, nor cwd in the environment, nor a source directory is set"},
		"an unknown environment":  {func(r *berth.RunRequest) { r.Environment = "gone" }, "not_found", "environment", "environment gone does not exist: there are ci, default, host, local"},
		"a misspelt environment":  {func(r *berth.RunRequest) { r.Environment = "defualt" }, "not_found", "environment", "environment defualt does not exist: did you mean default? there are ci, default, host, local"},
		"an unknown kind of file": {func(r *berth.RunRequest) { r.Configs = []berth.ConfigFile{{Kind: "system"}} }, "invalid", "configs[0].kind", "must be one of workflow, project, user"},
		"two files of one kind":   {func(r *berth.RunRequest) { r.Configs = []berth.ConfigFile{project(""), project("")} }, "invalid", "configs[1].kind", "is the second file of the kind project"},
		"a path that draws": {func(r *berth.RunRequest) {
			r.Configs = []berth.ConfigFile{{Kind: "user", Path: "a\x1b[2J", Source: "x"}}
		}, "invalid", "user file", "the document is no TOML: expected '=' after key (line 1, column 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input()
			c.change(&in.Request)
			_, err := config.Resolve(in)
			want := refusal{c.code, []berth.Problem{{Location: c.at, Message: c.want}}}
			if diff := cmp.Diff(want, refusalOf(t, err)); diff != "" {
				t.Errorf("Resolve (-want +got)\n%s", diff)
			}
		})
	}
}

func TestTheMergedEnvironmentIsRefusedWhereItsFieldsWereSet(t *testing.T) {
	t.Parallel()
	const file = ".berth/project.toml:"
	for name, c := range map[string]struct {
		source   string
		code     berth.Code
		at, want string
	}{
		"block on local":               {"[run.environment]\nid = \"host\"\nnetwork.mode = \"block\"\n", "unsupported", file + "3: run.environment.network.mode", "the local provider cannot block the network: it runs on the host; use docker or daytona"},
		"a list on docker":             {"[run.environment.network]\nallow = [\"10.0.0.0/8\"]\n", "unsupported", file + "1: run.environment.network.mode", "the docker provider cannot restrict the network to CIDRs; use daytona, or network.mode = block"},
		"a list without entries":       {"[run.environment.network]\nmode = \"cidr_allow_list\"\nallow = []\n", "invalid", file + "3: run.environment.network.allow", "is empty, and network.mode is cidr_allow_list: list at least one CIDR, or say network.mode = block"},
		"allow with allow_all":         {"[run.environment.network]\nmode = \"allow_all\"\nallow = [\"10.0.0.0/8\"]\n", "invalid", file + "3: run.environment.network.allow", "has no effect with network.mode = allow_all: empty the list, or say network.mode = cidr_allow_list"},
		"another provider's object":    {"[run.environment.ssh]\ndestination = \"box\"\n", "invalid", file + "1: run.environment.ssh", "is for provider ssh alone, and this environment's provider is docker"},
		"an entry without a provider":  {"[run.environment]\nid = \"x\"\n[environments.x.env]\nA = \"b\"\n", "invalid", "environment.provider", "is missing: must be one of local, docker, daytona, ssh, exe, sprites"},
		"ssh without a directory":      {"[run.environment]\nid = \"x\"\n[environments.x]\nprovider = \"ssh\"\nssh.destination = \"box\"\n", "invalid", file + "5: environments.x.ssh.working_directory", "is missing: provider ssh needs an absolute path on the remote host"},
		"an unknown environment":       {"[environments.mine]\nprovider = \"docker\"\n[run.environment]\nid = \"mien\"\n", "not_found", file + "4: run.environment.id", "environment mien does not exist: did you mean mine? there are ci, default, host, local, mine"},
		"a variable that is not there": {"[run.environment.env]\nA = \"{{ vars.GONE }}\"\n", "invalid", file + "2: run.environment.env.A", "refers to variable GONE, which does not exist"},
		"a step's variable":            {"[[run.prepare.steps]]\nscript = \"x\"\n[run.prepare.steps.env]\nA = \"{{ vars.GONE }}\"\n", "invalid", file + "4: run.prepare.steps[0].env.A", "refers to variable GONE, which does not exist"},
		"a variable with a token":      {"[run.environment.env]\nA = \"{{ vars.TOKEN }}\"\n", "invalid", file + "2: run.environment.env.A", "refers to a variable whose value makes a {{ }} token: tokens in variables are not replaced"},
		"a variable over the limit":    {"[run.environment.env]\nA = \"{{ vars.BIG }}\"\n", "invalid", file + "2: run.environment.env.A", "variable A takes 200003 bytes, more than the 131072 that the kernel passes to a process: put it into a file"},
		"a variable with a NUL":        {"[run.environment.env]\nA = \"{{ vars.NUL }}\"\n", "invalid", file + "2: run.environment.env.A", "has a NUL, which no environment variable can hold"},
		"host networking":              {"[run.environment.docker]\nnetwork_mode = \"host\"\n", "invalid", file + "2: run.environment.docker.network_mode", "is not on this server's allow list: bridge and none are free"},
		"a mount":                      {"[run.environment.docker]\nextra_mounts = [\"/etc:/e\"]\n", "invalid", file + "2: run.environment.docker.extra_mounts[0]", "mounts a directory that this server's allow list does not have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Resolve(input(project(c.source)))
			want := refusal{c.code, []berth.Problem{{Location: c.at, Message: c.want}}}
			if diff := cmp.Diff(want, refusalOf(t, err)); diff != "" {
				t.Errorf("Resolve (-want +got)\n%s", diff)
			}
		})
	}
}

func TestThePolicyDecidesWhatAServerRuns(t *testing.T) {
	t.Parallel()
	in := input(project("[run.environment.docker]\nextra_mounts = [\"/srv/data/x:/x:ro\", \"/srv/data:/d\", \"/srv/database:/b\"]\nnetwork_mode = \"host\"\n"))
	in.Policy.Mounts, in.Policy.NetworkModes = []string{"/srv/data/"}, []string{"host"}
	_, err := config.Resolve(in)
	want := []berth.Problem{{Location: ".berth/project.toml:2: run.environment.docker.extra_mounts[2]", Message: "mounts a directory that this server's allow list does not have"}}
	if diff := cmp.Diff(want, refusalOf(t, err).Problems); diff != "" {
		t.Errorf("Resolve (-want +got)\n%s", diff)
	}

	in = input()
	in.Policy.Providers = []berth.ProviderKind{berth.ProviderLocal}
	_, err = config.Resolve(in)
	if !errors.Is(err, config.ErrProviderDisabled) || berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("docker off: %v", err)
	}
	in.Policy.Providers = []berth.ProviderKind{berth.ProviderDocker}
	const off = "the local provider is off on this server: it runs commands on the server itself; start a server with berth serve --allow-local to have it, as one on AWS has no machine for it"
	in.Request.Environment = "local"
	_, err = config.Resolve(in)
	if got := refusalOf(t, err); !errors.Is(err, config.ErrProviderDisabled) || got.Code != berth.CodeNotFound || got.Problems[0].Message != "environment local does not exist: "+off {
		t.Errorf("local off: %v", err)
	}
	in.Request.Environment = "host"
	_, err = config.Resolve(in)
	if got := refusalOf(t, err); !errors.Is(err, config.ErrProviderDisabled) || got.Code != berth.CodeInvalid || got.Problems[0].Message != off {
		t.Errorf("an environment of provider local with local off: %v", err)
	}
	in.Request.Environment = "gone"
	if _, err = config.Resolve(in); strings.Contains(err.Error(), "local") {
		t.Errorf("local is listed though it is off: %v", err)
	}
}

func TestLabelsOfFilesAndRequestAreCountedTogether(t *testing.T) {
	t.Parallel()
	many := func(prefix string) map[string]string {
		labels := map[string]string{}
		for i := range 40 {
			labels[fmt.Sprintf("%s%d", prefix, i)] = "x"
		}
		return labels
	}
	source := "[run.labels]\n"
	for key := range maps.Keys(many("a")) {
		source += key + " = \"x\"\n"
	}
	in := input(project(source))
	in.Request.Labels = many("b")
	_, err := config.Resolve(in)
	want := refusal{berth.CodeInvalid, []berth.Problem{{Location: "labels", Message: "are 80 together with those of the files, more than 64"}}}
	if diff := cmp.Diff(want, refusalOf(t, err)); diff != "" {
		t.Errorf("Resolve (-want +got)\n%s", diff)
	}
}

func TestVariablesThatAreTooMuchTogetherAreRefused(t *testing.T) {
	t.Parallel()
	in := input(project("[run.environment.env]\nA = \"{{ vars.HALF }}\"\nB = \"{{ vars.HALF }}\"\n"))
	in.Variables = variablesOf(map[string]string{"HALF": strings.Repeat("x", 50_000)})
	_, err := config.Resolve(in)
	if got := refusalOf(t, err); got.Code != berth.CodeInvalid || got.Problems[0].Location != "environment" || !strings.Contains(got.Problems[0].Message, "more than 81920") {
		t.Errorf("Resolve: %v", err)
	}
}

func TestProblemsOfAllFilesComeInTheOrderOfTheLayers(t *testing.T) {
	t.Parallel()
	for range 10 {
		_, err := config.Resolve(input(workflow("b = 1\na = 1\n"), project("x = 1\n"), user("y = 1\n")))
		var got []string
		for _, p := range refusalOf(t, err).Problems {
			got = append(got, p.Location)
		}
		want := []string{
			"/home/me/.config/berth/settings.toml:1: y", ".berth/project.toml:1: x",
			".berth/workflows/w/workflow.toml:2: a", ".berth/workflows/w/workflow.toml:1: b",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("locations (-want +got)\n%s", diff)
		}
	}
}
