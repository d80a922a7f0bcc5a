package main

import (
	"os"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestASecretIsNeverAnArgument(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	for _, args := range [][]string{{"TOKEN", "hunter2222"}, {"TOKEN=hunter2222"}, {"--", "TOKEN", "hunter2222"}} {
		r := c.run(append([]string{"secret", "set"}, args...)...)
		if r.status != 2 || len(f.requests) > 0 {
			t.Errorf("berth secret set %q = %d with requests %q, want 2 with none", args, r.status, f.requests)
		}
		mustContain(t, "stderr", r.stderr, "never an argument", "--from-file")
		mustNotContain(t, "stderr", r.stderr, "hunter2222")
	}
}

func TestSecretValuesComeFromStandardInputOrAFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input string
		args  []string
		want  string
	}{
		"standard input":                      {"value1 ", nil, "value1 "},
		"one newline is left out":             {"value1\n\n", nil, "value1\n"},
		"a Windows newline is left out":       {"value1\r\n", nil, "value1"},
		"the newline can be kept":             {"value1\n", []string{"--keep-newline"}, "value1\n"},
		"a file's bytes are kept":             {"value1\n", []string{"--type", "file"}, "value1\n"},
		"quotes, dollars and equals signs":    {`a"'$b=c{{ vars.X }}`, nil, `a"'$b=c{{ vars.X }}`},
		"standard input by name":              {"value1", []string{"--from-file", "-"}, "value1"},
		"several lines":                       {"line 1\nline 2\n", nil, "line 1\nline 2"},
		"the longest":                         {strings.Repeat("x", berth.MaxSecretBytes), nil, strings.Repeat("x", berth.MaxSecretBytes)},
		"the longest with a newline after it": {strings.Repeat("x", berth.MaxSecretBytes) + "\n", nil, strings.Repeat("x", berth.MaxSecretBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			r := newCLI(t, f.URL).input(test.input).ok(append([]string{"secret", "set", "TOKEN"}, test.args...)...)
			if got := f.secrets["TOKEN"].Value; got != test.want {
				t.Errorf("value = %.40q, want %.40q", got, test.want)
			}
			mustNotContain(t, "what it says", r.stderr+r.stdout, "value1")
		})
	}
}

func TestSecretBytesThatAreNoTextArriveWhole(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	value := "\x00\xff\xfe key\n"
	if err := os.WriteFile(c.dir+"/key", []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
	c.ok("secret", "set", "KEY", "--type", "file", "--from-file", "key", "--description", "a key")
	if got := f.secrets["KEY"]; string(got.ValueBase64) != value || got.Type != berth.SecretFile || got.Description != "a key" {
		t.Errorf("secret = %+v, want the bytes in base64", got)
	}
}

func TestSecretsThatCannotBeMaskedOrStoredAreRefused(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	for input, want := range map[string]string{"12abc\n": "shorter than 6 bytes", "": "is empty: nothing came", strings.Repeat("x", berth.MaxSecretBytes+1): "longer than 64 KiB"} {
		r := c.input(input).run("secret", "set", "TOKEN")
		if r.status != 2 || len(f.secrets) > 0 {
			t.Errorf("a value of %d bytes = %d, want 2", len(input), r.status)
		}
		mustContain(t, "stderr", r.stderr, want)
		if input != "" {
			mustNotContain(t, "stderr", r.stderr, strings.TrimSpace(input)[:5])
		}
	}
}

func TestSecretListHasNoValues(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	c.input("value1").ok("secret", "set", "TOKEN", "--description", "for \x1b[2J it")
	r := c.ok("secret", "list")
	mustContain(t, "list", r.stdout, "TOKEN", "token", `for \x1b[2J it`)
	mustNotContain(t, "list", r.stdout+c.ok("secret", "list", "--json").stdout, "value1")
	c.ok("secret", "rm", "TOKEN")
	mustNotContain(t, "list", c.ok("secret", "list").stdout, "TOKEN")
}

func TestVariables(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := newCLI(t, f.URL)
	c.ok("var", "set", "A", "b c=d")
	c.ok("var", "set", "B=x=y")
	c.ok("var", "set", "--", "C", "-dash")
	c.ok("var", "set", "EMPTY", "")
	c.input("two\nlines\n").ok("var", "set", "D", "--from-file", "-")
	for name, want := range map[string]string{"A": "b c=d", "B": "x=y", "C": "-dash", "EMPTY": "", "D": "two\nlines\n"} {
		if got, ok := f.variables[name]; !ok || got != want {
			t.Errorf("variable %s = %q, want %q", name, got, want)
		}
	}
	mustContain(t, "list", c.ok("var", "list").stdout, "VARIABLE", "b c=d", "two …")
	if r := c.run("var", "set", "--create-only", "A", "z"); r.status != 5 || f.variables["A"] != "b c=d" {
		t.Errorf("--create-only = %d and %q, want 5 and the old value", r.status, f.variables["A"])
	}
	if r := c.run("var", "set", "A"); r.status != 2 {
		t.Errorf("a variable without a value = %d, want 2", r.status)
	}
	c.ok("var", "rm", "A")
	if r := c.run("var", "rm", "A"); r.status != 4 {
		t.Errorf("removing twice = %d, want 4", r.status)
	}
}
