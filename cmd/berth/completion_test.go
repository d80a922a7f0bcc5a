package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

// completeInBash gives the completions of a command line as bash has them when
// a person types Tab behind it.
const completeInBash = `
source "$1"
line=$2
export COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9
COMP_WORDS=() word=
for ((i = 0; i < ${#line}; i++)); do # as readline does
    c=${line:i:1}
    case $c in
    " ") [[ -n $word ]] && COMP_WORDS+=("$word"); word= ;;
    [=:]) [[ -n $word ]] && COMP_WORDS+=("$word"); COMP_WORDS+=("$c"); word= ;;
    *) word+=$c ;;
    esac
done
COMP_WORDS+=("$word")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
__start_berth
printf '%s\n' "${COMPREPLY[@]}"
`

func TestBashCompletesWithoutItsCompletionPackage(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not there")
	}
	c := newCLI(t, "")
	script := c.write("berth.bash", c.ok("completion", "bash").stdout)
	// A berth that knows these names, and keeps what it was asked.
	c.write("bin/berth", "#!"+bash+"\nprintf '%s|' \"$@\" >asked\nprintf '%s\\n' run runs local --label :4\n")
	if err := os.Chmod(filepath.Join(c.dir, "bin", "berth"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ line, asked, want string }{
		{"berth ru", "__complete|ru|", "run runs"},
		{"berth run -e ", "__complete|run|-e||", "run runs local --label"},
		{"berth run -e loc", "__complete|run|-e|loc|", "local"},
		{"berth run --environment=loc", "__complete|run|--environment=loc|", "local"},
		{"berth run --environment=", "__complete|run|--environment=|", "run runs local --label"},
		{"berth run --label a=b:c --la", "__complete|run|--label|a=b:c|--la|", "--label"},
		{"berth  run   -e   loc", "__complete|run|-e|loc|", "local"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), testLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, bash, "--norc", "-c", completeInBash, "bash", script, test.line)
		cmd.Dir, cmd.Env = c.dir, []string{"PATH=" + filepath.Join(c.dir, "bin") + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != test.want || c.read("asked") != test.asked {
			t.Errorf("%q: %v, %q asked as %q; want %q asked as %q", test.line, err, got, c.read("asked"), test.want, test.asked)
		}
	}
}

func TestSandboxesAreCompletedWhereTheirStatusLetsACommandUseThem(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, status := range []berth.SandboxStatus{
		berth.SandboxCreating, berth.SandboxReady, berth.SandboxStopped, berth.SandboxFailed, berth.SandboxDestroyed, berth.SandboxGone,
	} {
		f.sandboxes = append(f.sandboxes, berth.Sandbox{ID: berth.SandboxID("id-" + status), Status: status, Environment: "ci", CreatedAt: fakeNow})
	}
	c := newCLI(t, f.URL)
	for command, want := range map[string][]string{
		"exec":            {"creating", "ready", "stopped"},
		"sandbox start":   {"stopped"},
		"sandbox stop":    {"ready"},
		"sandbox ssh":     {"creating", "ready"},
		"sandbox preview": {"creating", "ready"},
		"sandbox show":    {"creating", "ready", "stopped", "failed"},
	} {
		var got []string
		for line := range strings.Lines(c.ok(append(append([]string{"__complete"}, strings.Fields(command)...), "")...).stdout) {
			if id, _, ok := strings.Cut(line, "\t"); ok {
				got = append(got, strings.TrimPrefix(id, "id-"))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("berth %s (-want +got):\n%s", command, diff)
		}
	}
}
