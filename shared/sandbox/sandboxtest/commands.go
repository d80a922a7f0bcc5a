package sandboxtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func exited(code int) berth.Exit { return berth.Exit{Code: code, Reason: berth.ExitExited} }

func testCommands(t *testing.T, s *sandbox) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	odd := "a b\t\"q\" 'q' $HOME `x` \\ = ; \n\nlast line with blanks  "
	bytesOf := func(b []byte) string {
		var script strings.Builder
		for _, c := range b {
			fmt.Fprintf(&script, `\x%02x`, c)
		}
		return "printf '" + script.String() + "'"
	}
	s.must(t, `mkdir -p sub 'dir with
newline' && printf '#!/bin/bash\necho hi\n' > plain && chmod 644 plain`)
	tests := []struct {
		name string
		spec berth.CommandSpec
		want result
	}{
		{
			"streams stay apart and the status is the command's",
			berth.CommandSpec{Argv: []string{"bash", "-c", "echo out; echo err >&2; exit 7"}},
			result{"out\n", "err\n", "", exited(7)},
		},
		{
			"arguments arrive as typed",
			berth.CommandSpec{Argv: []string{"printf", `%s|`, odd, "", "*", "-n", "--", "é😀", "\xff\xfe"}},
			result{odd + "||*|-n|--|é😀|\xff\xfe|", "", "", exited(0)},
		},
		{
			"an argument that begins with a dash is the program's",
			berth.CommandSpec{Argv: []string{"echo", "-c", "exit 3", "-x"}},
			result{"-c exit 3 -x\n", "", "", exited(0)},
		},
		{
			"a script may begin with a dash",
			berth.CommandSpec{Script: "-n-o-such 2>/dev/null; echo $?"},
			result{"127\n", "", "", exited(0)},
		},
		{
			"a last line without a newline is kept",
			berth.CommandSpec{Script: "printf 'one\ntwo'"},
			result{"one\ntwo", "", "", exited(0)},
		},
		{
			"every byte passes",
			berth.CommandSpec{Script: bytesOf(every) + "; " + bytesOf(every) + " >&2"},
			result{string(every), string(every), "", exited(0)},
		},
		{
			"a script goes on after a line that fails",
			berth.CommandSpec{Script: "echo one\nfalse\necho three"},
			result{"one\nthree\n", "", "", exited(0)},
		},
		{
			"the environment is byte-exact",
			berth.CommandSpec{Script: `printf %s "$ODD"; printf '|%s' "$EMPTY" "$BYTES"`, Env: map[string]string{"ODD": odd, "EMPTY": "", "BYTES": "\xff\x01é"}},
			result{odd + "||\xff\x01é", "", "", exited(0)},
		},
		{
			"declared variables win and secrets' names are no exception",
			berth.CommandSpec{Script: `echo "$HOME"; env | sed -n 's/^SOME_API_KEY=//p'`, Env: map[string]string{"HOME": "/elsewhere", "SOME_API_KEY": "declared"}},
			result{"/elsewhere\ndeclared\n", "", "", exited(0)},
		},
		{
			"the start directory is the workspace",
			berth.CommandSpec{Argv: []string{"pwd"}},
			result{s.workspace + "\n", "", "", exited(0)},
		},
		{
			"a relative directory lies in the workspace",
			berth.CommandSpec{Argv: []string{"pwd"}, Dir: "sub"},
			result{s.workspace + "/sub\n", "", "", exited(0)},
		},
		{
			"a directory's name may hold anything",
			berth.CommandSpec{Script: "pwd", Dir: s.workspace + "/dir with\nnewline"},
			result{s.workspace + "/dir with\nnewline\n", "", "", exited(0)},
		},
		{
			"the shell is no login shell, and sources nothing",
			berth.CommandSpec{Script: `shopt -q login_shell || echo plain; echo "[${BASH_ENV-unset}]"; case $- in *i*) echo interactive;; esac`},
			result{"plain\n[unset]\n", "", "", exited(0)},
		},
		{
			"standard input is empty unless asked for",
			berth.CommandSpec{Script: "cat; echo done"},
			result{"done\n", "", "", exited(0)},
		},
		{
			"no descriptor but the three is open",
			berth.CommandSpec{Script: `for f in /proc/$$/fd/*; do echo "${f##*/}"; done | sort -n | head -3; [ -e /proc/$$/fd/3 ] && echo more; true`},
			result{"0\n1\n2\n", "", "", exited(0)},
		},
		{
			"signals have their default effect",
			berth.CommandSpec{Script: `grep -E '^Sig(Ign|Blk)' /proc/self/status | tr -d '\t'`},
			result{"SigBlk:0000000000000000\nSigIgn:0000000000000000\n", "", "", exited(0)},
		},
		{
			"a status of 255 stays",
			berth.CommandSpec{Script: "exit 255"},
			result{"", "", "", exited(255)},
		},
		{
			"a command that is killed tells the signal",
			berth.CommandSpec{Script: "kill -9 $$"},
			result{"", "", "", berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitSignalled}},
		},
		{
			"a program that is killed tells the signal",
			berth.CommandSpec{Argv: []string{"bash", "-c", "kill -TERM $$"}},
			result{"", "", "", berth.Exit{Code: 143, Signal: "TERM", Reason: berth.ExitSignalled}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.run(t, tt.spec)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a missing program is 127 in the shell's words", func(t *testing.T) {
		got := s.run(t, berth.CommandSpec{Argv: []string{"no-such-program", "x"}})
		if got.exit != exited(127) || !strings.Contains(got.stderr, "no-such-program: not found") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a file that may not be executed is 126", func(t *testing.T) {
		got := s.run(t, berth.CommandSpec{Argv: []string{"./plain"}})
		if got.exit != exited(126) || !strings.Contains(got.stderr, "Permission denied") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a directory that is not there is refused before the start", func(t *testing.T) {
		id := s.newID()
		err := s.Provider.StartCommand(ctx(t), s.ref, berth.CommandSpec{ID: id, Script: "true", Dir: "nowhere"})
		wantCode(t, "StartCommand", err, berth.CodeInvalid)
		_, err = s.Provider.DescribeCommand(ctx(t), s.ref, id)
		wantCode(t, "DescribeCommand", err, berth.CodeNotFound)
	})
	t.Run("output of a hundred commands is complete each time", func(t *testing.T) {
		for i := range 100 {
			if got := s.run(t, berth.CommandSpec{Argv: []string{"echo", fmt.Sprint(i)}}); got.stdout != fmt.Sprintln(i) || got.exit != exited(0) {
				t.Fatalf("run %d: %+v", i, got)
			}
		}
	})
	t.Run("ten at once", func(t *testing.T) {
		var ids []berth.CommandID
		for i := range 10 {
			ids = append(ids, s.start(t, berth.CommandSpec{Script: fmt.Sprintf("for n in 1 2 3; do echo %d.$n; sleep 0.05; done; exit %d", i, i)}))
		}
		for i, id := range ids {
			want := result{fmt.Sprintf("%d.1\n%d.2\n%d.3\n", i, i, i), "", "", exited(i)}
			if got := s.wait(t, id); got != want {
				t.Errorf("command %d: %+v", i, got)
			}
		}
	})
}
