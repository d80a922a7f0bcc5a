package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

// loggedOut is a person with no server configured.
func loggedOut(t *testing.T) *cli {
	t.Helper()
	c := newCLI(t, "")
	delete(c.env, "BERTH_TOKEN")
	delete(c.env, "BERTH_SERVER")
	return c
}

// keyed is a server with a key.
func keyed(t *testing.T, key string) *fake {
	t.Helper()
	f := newFake(t)
	f.key = key
	return f
}

func (c *cli) credentialsFile() string {
	return filepath.Join(c.env["XDG_CONFIG_HOME"], "berth", "credentials.toml")
}

// onlyTokens fails unless a server has seen no other token than these.
func (f *fake) onlyTokens(want ...string) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, token := range f.tokens {
		if !slices.Contains(want, token) {
			f.t.Errorf("the server at %s was sent %q, want only %q", f.URL, token, want)
		}
	}
}

func TestLoginKeepsTheKeyForItsServerAlone(t *testing.T) {
	t.Parallel()
	a, b := keyed(t, fakeKey("a")), keyed(t, fakeKey("b"))
	c := loggedOut(t)
	r := c.input(fakeKey("a")+"\n").ok("login", a.URL+"/api/v1/", "--name", "one")
	mustContain(t, "stderr", r.stderr, "logged in to "+a.URL+" as owner", "current context, one")
	mustNotContain(t, "what it says", r.stdout+r.stderr, fakeKey("a"))
	c.input(fakeKey("b")).ok("login", b.URL, "--name", "two", "--from-file", c.write("key", fakeKey("b")+"\r\n"))

	c.ok("runs", "list") // goes to the current one, two
	c.ok("runs", "list", "--context", "one")
	c.ok("context", "use", "one")
	c.ok("var", "list")
	c.env["BERTH_CONTEXT"] = "two"
	c.ok("secret", "list")
	c.ok("key", "list", "--server", a.URL) // its key is known, too
	delete(c.env, "BERTH_CONTEXT")
	for f, lines := range map[*fake][]string{a: {"GET /variables", "GET /keys"}, b: {"GET /secrets"}} {
		for _, line := range lines {
			if !f.sent(line) {
				t.Errorf("%s was not asked %s", f.URL, line)
			}
		}
	}
	if b.sent("GET /variables") || a.sent("GET /secrets") {
		t.Error("a command went to the other context's server")
	}
	a.onlyTokens(fakeKey("a"))
	b.onlyTokens(fakeKey("b"))
}

func TestThePrecedenceOfServers(t *testing.T) {
	t.Parallel()
	servers := map[string]*fake{}
	for i, name := range []string{"flag", "variable", "chosen", "named", "current"} {
		servers[name] = keyed(t, fakeKey(string(rune('a'+i))))
	}
	for name, test := range map[string]struct {
		args   []string
		env    map[string]string
		want   string // the server's name; "" is that of the data folder
		status int    // when the choice is refused
	}{
		"the current context":                             {want: "current"},
		"the variable's context before the current one":   {env: map[string]string{"BERTH_CONTEXT": "named"}, want: "named"},
		"the flag's context before the variable's":        {args: []string{"--context", "chosen"}, env: map[string]string{"BERTH_CONTEXT": "named"}, want: "chosen"},
		"the variable's server before a context":          {env: map[string]string{"BERTH_SERVER": "variable", "BERTH_CONTEXT": "named"}, want: "variable"},
		"the flag's server before all":                    {args: []string{"--server", "flag"}, env: map[string]string{"BERTH_SERVER": "variable", "BERTH_CONTEXT": "named"}, want: "flag"},
		"a data folder before the current context":        {args: []string{"--data-dir", "d"}},
		"a data folder's variable before it, too":         {env: map[string]string{"BERTH_DATA_DIR": "d"}},
		"a data folder by flag before a variable":         {args: []string{"--data-dir", "d"}, env: map[string]string{"BERTH_CONTEXT": "named"}},
		"a context's variable before a data folder's":     {env: map[string]string{"BERTH_DATA_DIR": "d", "BERTH_CONTEXT": "named"}, want: "named"},
		"the context local is the data folder":            {args: []string{"--context", "local"}},
		"the context local by a variable":                 {env: map[string]string{"BERTH_CONTEXT": "local"}},
		"local with a data folder":                        {args: []string{"--context", "local", "--data-dir", "d"}},
		"a context's flag is not beaten without a word":   {args: []string{"--context", "chosen"}, env: map[string]string{"BERTH_SERVER": "variable"}, status: 2},
		"nor by a server's flag":                          {args: []string{"--context", "chosen", "--server", "flag"}, status: 2},
		"nor by a data folder":                            {args: []string{"--context", "chosen", "--data-dir", "d"}, status: 2},
		"a context that is not there":                     {args: []string{"--context", "chosne"}, status: 4},
		"a context that is not there, though one is used": {env: map[string]string{"BERTH_CONTEXT": "nobody"}, status: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := loggedOut(t)
			for _, name := range []string{"chosen", "named", "current"} {
				c.input(servers[name].key).ok("login", servers[name].URL, "--name", name)
			}
			for name, value := range test.env {
				if f := servers[value]; f != nil && name == "BERTH_SERVER" {
					value = f.URL
				}
				c.env[name] = value
			}
			args := slices.Clone(test.args)
			for i, arg := range args {
				if f := servers[arg]; f != nil && i > 0 && args[i-1] == "--server" {
					args[i] = f.URL
				}
			}
			r := c.run(append(args, "context", "show", "--json")...)
			if r.status != test.status {
				t.Fatalf("status %d, want %d: %s", r.status, test.status, r.stderr)
			}
			if test.status != 0 {
				return
			}
			var got struct{ Server string }
			if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
				t.Fatal(err)
			}
			want := ""
			if test.want != "" {
				want = servers[test.want].URL
			}
			if got.Server != want {
				t.Errorf("server %q, want %q (%s)", got.Server, want, test.want)
			}
		})
	}
}

func TestAVariablesTokenStaysWithItsServer(t *testing.T) {
	t.Parallel()
	a, b := keyed(t, fakeKey("a")), keyed(t, fakeKey("b"))
	c := loggedOut(t)
	c.env["BERTH_SERVER"], c.env["BERTH_TOKEN"] = a.URL+"/", fakeKey("a")
	if r := c.run("runs", "list", "--server", b.URL); r.status != 3 {
		t.Errorf("another server = %d, want 3", r.status)
	}
	c.ok("runs", "list", "--server", a.URL+"/api/v1")
	delete(c.env, "BERTH_SERVER") // then the token is the flag's
	c.ok("runs", "list", "--server", a.URL)
	c.input(fakeKey("b")).ok("login", b.URL)
	c.ok("runs", "list") // a context has a key of its own
	a.onlyTokens(fakeKey("a"))
	b.onlyTokens("", fakeKey("b"))
}

func TestAKeyThatDoesNotServeIsNotKept(t *testing.T) {
	t.Parallel()
	f := keyed(t, fakeKey("a"))
	for name, test := range map[string]struct {
		url, key string
		args     []string
		status   int
		asked    bool
	}{
		"an unknown key":           {f.URL, fakeKey("x"), nil, 3, true},
		"a password":               {f.URL, "hunter2hunter2", nil, 2, false},
		"nothing":                  {f.URL, "", nil, 2, false},
		"two keys":                 {f.URL, fakeKey("a") + "\n" + fakeKey("a"), nil, 2, false},
		"no URL":                   {"berth.example.com", fakeKey("a"), nil, 2, false},
		"a URL with a password":    {"https://u:hunter2hunter2@h", fakeKey("a"), nil, 2, false},
		"a key among the URLs":     {fakeKey("a"), "", nil, 2, false},
		"a key behind the URL":     {f.URL, "", []string{fakeKey("a")}, 2, false},
		"a reserved name":          {f.URL, fakeKey("a"), []string{"--name", "local"}, 2, false},
		"a bad name":               {f.URL, fakeKey("a"), []string{"--name", "a b"}, 2, false},
		"a file that is not there": {f.URL, "", []string{"--from-file", "nope"}, 4, false},
	} {
		before := len(f.tokens)
		c := loggedOut(t)
		r := c.input(test.key).run(append([]string{"login", test.url}, test.args...)...)
		if r.status != test.status || (len(f.tokens) > before) != test.asked {
			t.Errorf("%s = %d, asked %v; want %d, %v\n%s", name, r.status, len(f.tokens) > before, test.status, test.asked, r.stderr)
		}
		mustNotContain(t, name, r.stdout+r.stderr, fakeKey("a"), fakeKey("x"), "hunter2")
		if _, err := os.Stat(c.credentialsFile()); err == nil {
			t.Errorf("%s left a credentials file", name)
		}
	}
}

func TestLoggingInAgainReplacesTheKeyAndNeverAnotherServer(t *testing.T) {
	t.Parallel()
	a, b := keyed(t, fakeKey("a")), keyed(t, fakeKey("b"))
	c := loggedOut(t)
	c.input(fakeKey("a")).ok("login", a.URL, "--name", "prod")
	if r := c.input(fakeKey("b")).run("login", b.URL, "--name", "prod"); r.status != 5 || len(b.tokens) > 0 {
		t.Errorf("another server under the name = %d, %d requests; want 5 and none", r.status, len(b.tokens))
	}
	a.key = fakeKey("n")
	r := c.run("runs", "list")
	mustContain(t, "stderr", r.stderr, "unauthenticated", "to do: `berth login "+a.URL+"` replaces the key of context prod")
	c.input(fakeKey("n")).ok("login", a.URL) // keeps its name
	c.ok("runs", "list", "--context", "prod")
	text, err := os.ReadFile(c.credentialsFile())
	if err != nil || strings.Contains(string(text), fakeKey("a")) || strings.Count(string(text), "bth_") != 1 {
		t.Errorf("the file is\n%s%v", text, err)
	}
}

func TestContextsAreListedChosenShownAndForgotten(t *testing.T) {
	t.Parallel()
	a, b := keyed(t, fakeKey("a")), keyed(t, fakeKey("b"))
	c := loggedOut(t)
	mustContain(t, "list", c.ok("context", "list").stdout, "*  local")
	c.input(fakeKey("a")).ok("login", a.URL, "--name", "one")
	c.input(fakeKey("b")).ok("login", b.URL, "--name", "two")
	r := c.ok("context", "list")
	mustContain(t, "list", r.stdout, "one", a.URL, "bth_aaaaaaaa…", "*  two", "this machine")
	mustNotContain(t, "list", r.stdout+c.ok("context", "list", "--json").stdout+c.ok("context", "show").stdout, fakeKey("a")[:20], fakeKey("b")[:20])
	mustContain(t, "show", c.ok("context", "show").stdout, "two", b.URL, "the current context", "bth_bbbbbbbb…")
	mustContain(t, "show one", c.ok("context", "show", "one").stdout, a.URL)
	mustContain(t, "whoami", c.ok("whoami").stdout, "owner", "admin", b.URL+" (context two)")
	mustContain(t, "whoami", c.ok("whoami", "--json", "--context", "one").stdout, `"context": "one"`, `"name": "owner"`)
	mustContain(t, "doctor", c.run("doctor").stdout, "pass  context", b.URL+" (context two), chosen by the current context")
	c.ok("context", "use", "local")
	mustContain(t, "show", c.ok("context", "show").stdout, "this machine", "default")
	c.ok("context", "use", "one")
	if r := c.run("context", "use", "nobody"); r.status != 4 {
		t.Errorf("an unknown context = %d, want 4", r.status)
	}
	c.env["BERTH_SERVER"] = "http://elsewhere"
	mustContain(t, "stderr", c.ok("context", "use", "one").stderr, "BERTH_SERVER is set")
	delete(c.env, "BERTH_SERVER")
	r = c.ok("logout")
	mustContain(t, "stderr", r.stderr, "forgot context one", "still counts", "this machine")
	if r := c.run("logout"); r.status != 4 {
		t.Errorf("logging out of nothing = %d, want 4", r.status)
	}
	if r := c.run("context", "rm", "local"); r.status != 5 {
		t.Errorf("forgetting local = %d, want 5", r.status)
	}
	c.ok("context", "rm", "two")
	text, err := os.ReadFile(c.credentialsFile())
	if err != nil || strings.Contains(string(text), "bth_") {
		t.Errorf("the file is\n%s%v", text, err)
	}
}

func TestSettingsAreLeftAloneByALogin(t *testing.T) {
	t.Parallel()
	f := keyed(t, fakeKey("a"))
	c := loggedOut(t)
	folder := filepath.Dir(c.credentialsFile())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(folder, "settings.toml")
	const text = "# mine\n[cli]\nserver = \"http://settings.example.com\"\n"
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c.input(fakeKey("a")).ok("login", f.URL)
	if got, err := os.ReadFile(settings); err != nil || string(got) != text {
		t.Errorf("the settings are\n%s%v", got, err)
	}
	mustContain(t, "show", c.ok("context", "show").stdout, f.URL) // the context beats them
	c.ok("context", "use", "local")
	mustContain(t, "show", c.ok("context", "show").stdout, "http://settings.example.com", "the settings", "none")
	c.ok("context", "use", "127-0-0-1-"+f.URL[strings.LastIndexByte(f.URL, ':')+1:])
	// Settings go along with runs, and a key must not.
	r := c.run("run", "--target", "none", "--", "true")
	sent, err := json.Marshal(f.runRequest)
	if err != nil || strings.Contains(string(sent), "bth_") || !strings.Contains(string(sent), "settings.example.com") {
		t.Errorf("the run was sent as %s, %v (status %d: %s)", sent, err, r.status, r.stderr)
	}
}

func TestPlainHTTPToAnotherMachineIsWarnedOf(t *testing.T) {
	t.Parallel()
	c := loggedOut(t)
	c.clock = newHurriedClock()
	c.env["BERTH_TOKEN"] = "t"
	for server, want := range map[string]bool{
		"http://berth.invalid:1": true, "https://berth.invalid:1": false, "http://127.0.0.1:1": false, "http://localhost:1": false, "http://[::1]:1": false,
		"foo": false, "not a url": false, "http://": false, "ftp://berth.invalid": false, // which are no URL of a server at all
	} {
		r := c.run("runs", "list", "--server", server)
		if got := strings.Contains(r.stderr, "not encrypted"); got != want {
			t.Errorf("%s: warned %v, want %v:\n%s", server, got, want, r.stderr)
		}
	}
	r := c.input(fakeKey("a")).run("login", "http://berth.invalid:1", "--quiet")
	mustContain(t, "login", r.stderr, "not encrypted")
	if r.status != 6 {
		t.Errorf("login to nobody = %d, want 6", r.status)
	}
}

func TestContextsAndKeysAreCompleted(t *testing.T) {
	t.Parallel()
	f := keyed(t, fakeKey("a"))
	f.keys = []berth.Key{{ID: "01k5m3v9x2qk00000000000000", Name: "ci", Scopes: []berth.Scope{berth.ScopeRead}}}
	c := loggedOut(t)
	c.input(fakeKey("a")).ok("login", f.URL, "--name", "prod")
	for line, want := range map[string]string{
		"context use": "prod\t" + f.URL, "context rm": "local\t", "logout": "prod\t", "runs list --context": "prod\t",
		"key rm": "01k5m3v9x2qk00000000000000\tci: read", "key create ci --scope": "admin\t",
	} {
		mustContain(t, line, c.ok(append(append([]string{"__complete"}, strings.Fields(line)...), "")...).stdout, want)
	}
	mustNotContain(t, "a second name", c.ok("__complete", "context", "use", "prod", "").stdout, "prod\t")
}
