package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestErrorsSayWhatWhereAndTheRemedy(t *testing.T) {
	t.Parallel()
	problems := []berth.Problem{{Location: "env.A", Message: "is bad"}, {Message: "is worse"}}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"one problem stands in the first line": {
			berth.Invalid(problems[:1]), "berth: invalid: env.A: is bad\n  to do: correct what is named\n",
		},
		"several stand below it": {
			berth.Invalid(problems), "berth: invalid: 2 fields are invalid\n  env.A: is bad\n  is worse\n  to do: correct what is named\n",
		},
		"what was being done is kept": {
			fmt.Errorf("reading x: %w", berth.Invalid(problems)),
			"berth: invalid: reading x: 2 fields are invalid\n  env.A: is bad\n  is worse\n  to do: correct what is named\n",
		},
		"its own remedy beats the general one": {
			&berth.Error{Code: berth.CodeConflict, Message: "no", Remediation: "first\nsecond"},
			"berth: conflict: no\n  to do: first\n    second\n",
		},
		"a local cause is told": {
			local(fmt.Errorf("open x: %w", fs.ErrNotExist), "reading x"),
			"berth: not_found: reading x: open x: file does not exist\n  to do: check the path\n",
		},
		"control characters are harmless": {
			berth.Errorf(berth.CodeNotFound, "no \x1b[31m\nthing"), "berth: not_found: no \\x1b[31m\\nthing\n  to do: check the name\n",
		},
		"a place in a URL is the API's matter": {
			berth.FieldErrorf(berth.CodeInvalid, "path.name", "variable name must be short"),
			"berth: invalid: variable name must be short\n  to do: correct what is named\n",
		},
		"a parameter is named without saying where it was": {
			fmt.Errorf("copying: %w", berth.FieldErrorf(berth.CodeInvalid, "query.path", "leads out of the workspace")),
			"berth: invalid: copying: path: leads out of the workspace\n  to do: correct what is named\n",
		},
		"the list of what there is is named": {
			berth.Errorf(berth.CodeNotFound, "environment web does not exist"),
			"berth: not_found: environment web does not exist\n  to do: `berth env list` shows those that there are\n",
		},
		"also when a prefix was given": {
			berth.FieldErrorf(berth.CodeNotFound, "path.id", "no run has an id that begins with 01zzzz"),
			"berth: not_found: no run has an id that begins with 01zzzz\n  to do: `berth runs list` shows those that there are\n",
		},
		"a provider that is off leads to other environments": {
			berth.FieldErrorf(berth.CodeInvalid, "environment.provider", "the docker provider is off on this server"),
			"berth: invalid: environment.provider: the docker provider is off on this server\n" +
				"  to do: name another environment with --environment: `berth env list` shows them, and local runs on the server's machine\n",
		},
		"a prefix of several is to be longer": {
			berth.Errorf(berth.CodeConflict, "several runs have an id that begins with 01k5m3: 01k5m3a, 01k5m3b"),
			"berth: conflict: several runs have an id that begins with 01k5m3: 01k5m3a, 01k5m3b\n  to do: give more of the id\n",
		},
		"an origin that is only here leads to other targets": {
			berth.FieldErrorf(berth.CodeInvalid, "target.origin", "is no URL of a repository"),
			"berth: invalid: target.origin: is no URL of a repository\n" +
				"  to do: name one that the sandbox can reach, --target git:https://HOST/OWNER/REPOSITORY, or take no code along, --target none\n",
		},
		"one without a code is internal": {errors.New("odd"), "berth: internal: odd\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			report(&b, test.err, "")
			if diff := cmp.Diff(test.want, b.String()); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownCommandsComeWithTheNearestOne(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "http://127.0.0.1:1")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"rnu"}, "did you mean `berth run`?"},
		{[]string{"env", "lsit"}, "did you mean `berth env list`?"},
		{[]string{"runs", "logz", "x"}, "did you mean `berth runs logs`?"},
		{[]string{"logs", "x"}, "did you mean `berth runs logs`?"},
		{[]string{"shell", "x"}, "did you mean `berth sandbox ssh`?"},
		{[]string{"set", "A", "b"}, "did you mean `berth secret set` or `berth var set`?"},
		{[]string{"list"}, "see `berth --help`"},
		{[]string{"env", "get", "ci"}, "did you mean `berth env show`?"},
		{[]string{"env", "delete", "ci"}, "did you mean `berth env rm`?"},
		{[]string{"runs", "delete", "x"}, "did you mean `berth runs rm`?"},
		{[]string{"runs", "update", "x"}, "see `berth runs --help`"},
		{[]string{"--version"}, "did you mean `berth version`?"},
		{[]string{"-v"}, "did you mean `berth version`?"},
		{[]string{"frobnicate"}, "see `berth --help`"},
		{[]string{"env", "list", "--jsno"}, "did you mean --json?"},
		{[]string{"help", "rnu"}, "did you mean `berth run`?"},
		{[]string{"help", "env", "lsit"}, "did you mean `berth env list`?"},
		{[]string{"help", "frobnicate"}, "see `berth --help`"},
		{[]string{"help", "version", "x"}, "see `berth version --help`"},
		{[]string{"var", "set", "A"}, "the variable's value is missing"},
		{[]string{"var", "set", "A", "b", "c"}, "1 argument too many after the variable's value"},
		{[]string{"secret", "set", "my-name"}, "secret name must be"},
	} {
		r := c.run(test.args...)
		if r.status != 2 || r.stdout != "" {
			t.Errorf("berth %q = %d and stdout %q, want 2 and none", test.args, r.status, r.stdout)
		}
		mustContain(t, "stderr", r.stderr, test.want)
	}
}

// A variable of a script that is not set once led to the server on this machine, and
// to the default environment.
func TestAFlagThatChoosesIsNotEmpty(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	for flag, args := range map[string][]string{
		"--server": {"runs", "list"}, "--context": {"runs", "list"}, "--data-dir": {"stop"}, "--environment": {"runs", "list"},
		"-e": {"preflight", "-c", "true"}, "--target": {"preflight", "-c", "true"}, "--workflow": {"preflight", "-c", "true"},
	} {
		r := c.run(append(args, flag, "")...)
		if r.status < 2 {
			t.Errorf("berth %q %s '' = %d, want a failure", args, flag, r.status)
		}
		mustContain(t, flag, r.stderr, flag, "is empty")
	}
	if len(f.requests) > 0 {
		t.Errorf("the server was asked %q", f.requests)
	}
}

// fullDisk is standard output on a disk without room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: errors.New("no space left on device")}
}

func TestOutputThatCannotBeWrittenIsThisMachinesMatter(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	for _, args := range [][]string{{"version"}, {"env", "list"}, {"env", "list", "--json"}, {"completion", "bash"}} {
		var stderr strings.Builder
		if status := c.app(fullDisk{}, &stderr).execute(t.Context(), args); status != 6 {
			t.Errorf("berth %q = %d, want 6", args, status)
		}
		mustContain(t, strings.Join(args, " "), stderr.String(), "unavailable: writing the output", "no space left", "to do: look at this machine's disk")
	}
}

func TestAServerThatIsNotThereIsUnavailable(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "http://127.0.0.1:1")
	c.clock = newHurriedClock()
	r := c.run("runs", "list")
	if r.status != 6 {
		t.Errorf("berth runs list = %d, want 6", r.status)
	}
	mustContain(t, "stderr", r.stderr, "to do: see whether http://127.0.0.1:1 is the right server")
	if r := c.run("run", "-e", "local", "--", "true"); r.status != 125 {
		t.Errorf("berth run = %d, want 125", r.status)
	}
	c.env["BERTH_SERVER"] = "not a url"
	if r := c.run("runs", "list"); r.status != 2 {
		t.Errorf("a bad BERTH_SERVER = %d, want 2", r.status)
	}
}

func TestAMissingOrWrongTokenIsUnauthenticated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	c.env["BERTH_TOKEN"] = ""
	r := c.run("runs", "list")
	if r.status != 3 {
		t.Errorf("berth runs list = %d, want 3", r.status)
	}
	mustContain(t, "stderr", r.stderr, "unauthenticated")

	// The data folder's token serves for a server on this machine.
	c.env["BERTH_DATA_DIR"] = c.dir
	if err := writeToken(c.dir, "test-token\n"); err != nil {
		t.Fatal(err)
	}
	c.ok("runs", "list")
}

func TestTheServerIsNamedByFlagVariableOrSettings(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	settings := filepath.Join(c.env["XDG_CONFIG_HOME"], "berth", "settings.toml")
	if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte("[cli]\nserver = \"http://settings\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	server := func(a *app) string {
		got, err := a.configuredServer()
		if err != nil {
			t.Error(err)
		}
		return got
	}
	if got := server(c.app(nil, nil)); got != "http://settings" {
		t.Errorf("server = %q, want the settings'", got)
	}
	c.env["BERTH_DATA_DIR"] = c.dir
	if got := server(c.app(nil, nil)); got != "" {
		t.Errorf("server = %q with a data folder named, want none", got)
	}
	c.env["BERTH_SERVER"] = "http://variable"
	if got := server(c.app(nil, nil)); got != "http://variable" {
		t.Errorf("server = %q, want the variable's", got)
	}
	a := c.app(nil, nil)
	a.server = "http://flag"
	if got := server(a); got != "http://flag" {
		t.Errorf("server = %q, want the flag's", got)
	}
	c.env["BERTH_SERVER"], c.env["BERTH_DATA_DIR"] = "", ""
	if err := os.WriteFile(settings, []byte("[cli]\nsevrer = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := c.run("runs", "list")
	if r.status != 2 {
		t.Errorf("settings with a fault = %d, want 2", r.status)
	}
	mustContain(t, "stderr", r.stderr, "settings.toml", "sevrer")
}

func TestTheDataFoldersTokenStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeToken(dir, "secret-token\n"); err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]string{
		"http://127.0.0.1:8080": "secret-token", "http://[::1]:8080": "secret-token", "http://localhost:1": "secret-token",
		"https://berth.example.com": "", "http://127.0.0.1.example.com": "", "http://10.0.0.1": "",
	} {
		if got, err := localToken(server, dir); err != nil || got != want {
			t.Errorf("localToken(%s) = %q, %v; want %q", server, got, err, want)
		}
	}
}

func TestEveryCodeHasARemedyForPeople(t *testing.T) {
	t.Parallel()
	for _, row := range berth.Codes {
		e := &berth.Error{Code: row.Code}
		if got := generalRemedy(e, "01k5m3v9x2qf"); got == "" || strings.Contains(got, "If-Match") != (row.Code == berth.CodePreconditionRequired) {
			t.Errorf("%s: remedy %q", row.Code, got)
		}
	}
}

func TestATokenWithItsFilesNewlineIsTakenAndOneWithOthersInItIsNamed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	c.env["BERTH_TOKEN"] = "test-token\r\n"
	c.ok("host", "list")
	before := len(f.requests)
	for _, token := range []string{"test-token\nother", "test token", "tok\x00en", "tök"} {
		c.env["BERTH_TOKEN"] = token
		r := c.run("host", "list")
		if r.status != 2 || len(f.requests) != before {
			t.Errorf("%q: status %d after %q, want 2 and no request", token, r.status, f.requests[before:])
		}
		mustContain(t, "the error", r.stderr, "BERTH_TOKEN")
	}
}
