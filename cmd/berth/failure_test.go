package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestErrorsSayWhatWhereAndWhatToDo(t *testing.T) {
	t.Parallel()
	problems := []berth.Problem{{Location: "env.A", Message: "is bad"}, {Message: "is worse"}}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"one problem stands in the first line": {
			berth.Invalid(problems[:1]), "berth: invalid: env.A: is bad\n  to do: Correct the fields that are named.\n",
		},
		"several stand below it": {
			berth.Invalid(problems), "berth: invalid: 2 fields are invalid\n  env.A: is bad\n  is worse\n  to do: Correct the fields that are named.\n",
		},
		"what was being done is kept": {
			fmt.Errorf("reading x: %w", berth.Invalid(problems)),
			"berth: invalid: reading x: 2 fields are invalid\n  env.A: is bad\n  is worse\n  to do: Correct the fields that are named.\n",
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
			berth.Errorf(berth.CodeNotFound, "no \x1b[31m\nthing"), "berth: not_found: no \\x1b[31m\\nthing\n  to do: Check the id.\n",
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
		{[]string{"frobnicate"}, "see `berth --help`"},
		{[]string{"env", "list", "--jsno"}, "did you mean --json?"},
	} {
		r := c.run(test.args...)
		if r.status != 2 || r.stdout != "" {
			t.Errorf("berth %q = %d and stdout %q, want 2 and none", test.args, r.status, r.stdout)
		}
		mustContain(t, "stderr", r.stderr, test.want)
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
