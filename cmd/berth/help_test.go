package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the golden files")

func TestHelpOfTheMainCommands(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	for _, name := range []string{"", "run", "exec", "cp", "runs", "env create", "secret set", "serve"} {
		args := append(strings.Fields(name), "--help")
		got := c.ok(args...).stdout
		golden := filepath.Join("testdata", "help", strings.ReplaceAll(strings.TrimSpace("berth "+name), " ", "_")+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("berth %s --help (-want +got), `go test ./cmd/berth -update` writes it:\n%s", name, diff)
		}
	}
}

func TestTheHelpOfSandboxRmNamesTheFoldersThatStay(t *testing.T) {
	t.Parallel()
	mustContain(t, "help", strings.Join(strings.Fields(newCLI(t, "").ok("sandbox", "rm", "--help").stdout), " "), "providers local and ssh leaves its folder")
}

// walk visits every command that people can see.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			visit(sub)
			walk(sub, visit)
		}
	}
}

func TestEveryCommandHasAnExampleThatParses(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	walk(newRoot(c.app(nil, nil)), func(cmd *cobra.Command) {
		if cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s has no example or no short text", cmd.CommandPath())
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			words := shellWords(line)
			at := -1
			for i, word := range words {
				if word == "berth" {
					at = i
				}
			}
			if at < 0 {
				t.Errorf("%s: the example %q does not use berth", cmd.CommandPath(), line)
				continue
			}
			found, rest, err := newRoot(c.app(nil, nil)).Find(words[at+1:])
			if err != nil || (found.Name() != cmd.Name() && found.Parent().Name() != cmd.Name() && found.Name() != "env") {
				t.Errorf("%s: the example %q is of %s, %v", cmd.CommandPath(), line, found.CommandPath(), err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: the example %q: %v", cmd.CommandPath(), line, err)
			}
		}
	})
}

// shellWords splits the simple command lines of examples: quotes hold words
// together, and redirections and parentheses stand for themselves. What follows
// the last berth's pipe is cut.
func shellWords(line string) []string {
	var words []string
	word, quote := "", rune(0)
	end := func() {
		if word != "" {
			words = append(words, word)
		}
		word = ""
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune(" ()<>", r):
			end()
		case r == '|' && slices.Contains(words, "berth") && !strings.Contains(line[strings.Index(line, "|"):], "berth"):
			end()
			return words
		default:
			word += string(r)
		}
	}
	end()
	return words
}

func TestTheDocumentNamesEveryCommand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	walk(newRoot(newCLI(t, "").app(nil, nil)), func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && !strings.Contains(string(text), "`"+cmd.CommandPath()+"`") {
			t.Errorf("docs/cli.md does not name %s", cmd.CommandPath())
		}
	})
}

// The documents' command lines are typed as they stand.
func TestCommandsInTheDocumentsParse(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	checked := 0
	for _, file := range append(files, "../../README.md", "../../examples/greeter/README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "\\\n", ""), "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			line, _, _ = strings.Cut(line, " #")
			words := shellWords(strings.TrimPrefix(line, "$ "))
			at := slices.Index(words, "berth")
			if !fenced || at < 0 {
				continue
			}
			checked++
			cmd, rest, err := newRoot(c.app(nil, nil)).Find(words[at+1:])
			if err != nil || cmd.HasSubCommands() {
				t.Errorf("%s: %q is no command: %v", file, line, err)
			} else if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%s: %q: %v", file, line, err)
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d command lines were found, want those of the README and more", checked)
	}
}

func TestCompletionScriptsAndLiveNames(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "ci", "provider": "docker"})
	f.addSandbox("01k5m3v9x2qh00000000000000")
	c := newCLI(t, f.URL)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		mustContain(t, shell, c.ok("completion", shell).stdout, "berth")
	}
	if r := c.run("completion", "tcsh"); r.status != 2 {
		t.Errorf("an unknown shell = %d, want 2", r.status)
	}
	c.ok("var", "set", "REGION", "x")
	c.input("value1").ok("secret", "set", "TOKEN")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--environment", ""}, "ci\tdocker"},
		{[]string{"env", "show", ""}, "local\tlocal"},
		{[]string{"exec", ""}, string(fakeSandbox)},
		{[]string{"secret", "rm", ""}, "TOKEN"},
		{[]string{"var", "set", ""}, "REGION"},
		{[]string{"env", "create", "--provider", ""}, "daytona"},
	} {
		mustContain(t, strings.Join(test.args, " "), c.ok(append([]string{"__complete"}, test.args...)...).stdout, test.want)
	}
}

func TestCompletionStartsNoServerAndIsQuiet(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	r := c.ok("__complete", "run", "--environment", "")
	mustNotContain(t, "stdout", r.stdout, "local")
	if entries, err := os.ReadDir(filepath.Join(c.env["XDG_DATA_HOME"], "berth")); err == nil && len(entries) > 0 {
		t.Errorf("completion left %v in the data folder", entries)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	mustContain(t, "stdout", c.ok("version").stdout, "berth dev (")
	mustContain(t, "stdout", c.ok("version", "--json").stdout, `"api": "v1"`)
}
