//go:build linux

package ssh_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// foreign makes the host one of another system, which holds no guest.
func (r *rig) foreign(t *testing.T) {
	t.Helper()
	bin := filepath.Join(r.server.Home, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(bin, "uname"):                 "#!/bin/sh\n[ \"$1\" = -s ] && echo Darwin || echo arm64\n",
		filepath.Join(r.server.Home, ".bashrc"):     "PATH=" + bin + ":$PATH\necho Welcome to this host\n",
		filepath.Join(r.server.Home, ".bash_login"): "exit 1\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func foreignRig(t *testing.T, transport string) (*rig, berth.SandboxState) {
	r := newRig(t, transport)
	r.foreign(t)
	state := r.ready(t, r.spec(t))
	if state.Detail != plain.Detail {
		t.Fatalf("the state does not say that there is no guest: %+v", state)
	}
	return r, state
}

func TestAHostWithoutAGuestIsKnownToTakeNoStreams(t *testing.T) {
	t.Parallel()
	r, state := foreignRig(t, "program")
	if streams, err := r.present.Streams(t.Context(), refOf(state)); streams || err != nil {
		t.Errorf("Streams = %v, %v; want false", streams, err)
	}
	other := newRig(t, "program")
	if streams, err := other.present.Streams(t.Context(), refOf(other.ready(t, other.spec(t)))); !streams || err != nil {
		t.Errorf("Streams of a host with a guest = %v, %v; want true", streams, err)
	}
}

// result is what became of a command.
type result struct {
	stdout, stderr string
	exit           berth.Exit
}

func (r *rig) run(t *testing.T, state berth.SandboxState, spec berth.CommandSpec) result {
	t.Helper()
	if err := r.present.StartCommand(t.Context(), refOf(state), spec); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, exit := streams(t, r.present, refOf(state), spec.ID)
	return result{stdout, stderr, exit}
}

func TestPlainCommandsDoWhereNoGuestCanBe(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r, state := foreignRig(t, transport)
		odd := "a b\t\"q\" 'q' $HOME `x` \\ *\nend"
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		if err := os.WriteFile(filepath.Join(state.Workspace, "every"), every, 0o644); err != nil {
			t.Fatal(err)
		}
		exited := func(code int) berth.Exit { return berth.Exit{Code: code, Reason: berth.ExitExited} }
		for _, tt := range []struct {
			spec berth.CommandSpec
			want result
		}{
			{berth.CommandSpec{ID: "streams", Script: "echo out; echo err >&2; exit 7"}, result{"out\n", "err\n", exited(7)}},
			{berth.CommandSpec{ID: "argv", Argv: []string{"printf", "%s|", odd, "", "-n"}}, result{odd + "||-n|", "", exited(0)}},
			{berth.CommandSpec{ID: "env", Script: `printf %s "$ODD"`, Env: map[string]string{"ODD": odd, "PATH": "/nowhere"}}, result{odd, "", exited(0)}},
			{berth.CommandSpec{ID: "bytes", Argv: []string{"cat", "every"}}, result{string(every), "", exited(0)}},
			{berth.CommandSpec{ID: "dir", Script: "pwd", Dir: "/"}, result{"/\n", "", exited(0)}},
			{berth.CommandSpec{ID: "large", Script: "head -c 300000 /dev/zero | tr '\\0' x"}, result{strings.Repeat("x", 300000), "", exited(0)}},
			{berth.CommandSpec{ID: "killed", Script: "kill -9 $$"}, result{"", "", berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitSignalled}}},
		} {
			got := r.run(t, state, tt.spec)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("%s (-want +got):\n%.2000s", tt.spec.ID, diff)
			}
		}
		if got := r.run(t, state, berth.CommandSpec{ID: "slow", Script: "echo begun; sleep 600", Timeout: time.Second}); got.exit.Reason != berth.ExitTimedOut || got.stdout != "begun\n" {
			t.Errorf("a command over its time: %+v", got)
		}
		ref := refOf(state)
		for _, spec := range []berth.CommandSpec{{ID: "once", Script: "echo x >> once"}, {ID: "once", Script: "echo x >> once"}} {
			r.run(t, state, spec)
		}
		if text, err := os.ReadFile(filepath.Join(state.Workspace, "once")); err != nil || string(text) != "x\n" {
			t.Errorf("a command started twice left %q, %v", text, err)
		}
		err := r.present.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "once", Script: "true"})
		if berth.CodeOf(err) != berth.CodeConflict {
			t.Errorf("an id used for another command: %v", err)
		}
		out, err := r.present.ReadOutput(t.Context(), ref, "streams", 0, 0, 0)
		if err != nil || !out.Ended {
			t.Fatalf("ReadOutput = %+v, %v", out, err)
		}
		end, err := r.present.ReadOutput(t.Context(), ref, "streams", out.Next, 0, time.Minute)
		if err != nil || !end.Ended || len(end.Bytes) != 0 || *end.Exit != exited(7) {
			t.Errorf("ReadOutput at the end = %+v, %v", end, err)
		}
		for _, offset := range []int64{-1, 3, out.Next + 1} {
			if _, err := r.present.ReadOutput(t.Context(), ref, "streams", offset, 0, 0); berth.CodeOf(err) != berth.CodeInvalid {
				t.Errorf("ReadOutput(%d): %v, want invalid", offset, err)
			}
		}
		if err := r.present.Cancel(t.Context(), ref, "buried"); err != nil {
			t.Fatal(err)
		}
		if got := r.run(t, state, berth.CommandSpec{ID: "buried", Script: "touch never"}); got.exit.Reason != berth.ExitCancelled {
			t.Errorf("a command that was cancelled before: %+v", got)
		}
		for name, err := range map[string]error{
			"input":   r.present.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "in", Script: "cat", Stdin: true}),
			"secrets": r.present.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "m", Script: "true", Mask: []berth.SecretValue{berth.NewSecretValue([]byte("hunter2"))}}),
		} {
			if berth.CodeOf(err) != berth.CodeUnsupported {
				t.Errorf("%s: %v, want unsupported", name, err)
			}
		}
	})
}

func TestPlainCommandsOutliveConnectionsAndServers(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r, state := foreignRig(t, transport)
		if err := r.present.StartCommand(t.Context(), refOf(state), berth.CommandSpec{ID: "counter", Script: "for i in {1..40}; do echo $i; sleep 0.05; done; exit 9"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		r.server.Cut()
		r.reopen()
		var got string
		var exit berth.Exit
		for offset, deadline := int64(0), time.Now().Add(time.Minute); exit.Reason == ""; {
			text, next, ended, err := piece(r.present, refOf(state), "counter", offset)
			if err != nil && (berth.CodeOf(err) != berth.CodeUnavailable || time.Now().After(deadline)) {
				t.Fatal(err)
			}
			if got += text; err == nil {
				offset = next
			}
			if ended != nil {
				exit = *ended
			}
		}
		var want strings.Builder
		for i := range 40 {
			want.WriteString(strconv.Itoa(i+1) + "\n")
		}
		if got != want.String() || exit.Code != 9 {
			t.Errorf("output is not every line once: %+v, %q", exit, got)
		}
		r.loseSupervisor(t, state)
		if err := r.present.StartCommand(t.Context(), refOf(state), berth.CommandSpec{ID: "sleep", Script: "sleep 6011.5 & sleep 6011.5"}); err != nil {
			t.Fatal(err)
		}
		// By its record alone, as after a server that died.
		if err := r.reopen().Destroy(t.Context(), berth.SandboxRef{ID: state.ID}); err != nil {
			t.Fatal(err)
		}
		if left := sandboxtest.Processes("sleep\x006011.5"); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
		if _, err := os.Stat(r.folder(state.ID)); !os.IsNotExist(err) {
			t.Errorf("its folder is left: %v", err)
		}
		if state, err := r.present.Describe(t.Context(), refOf(state)); err != nil || state.Status != berth.SandboxGone {
			t.Errorf("Describe = %+v, %v", state, err)
		}
	})
}

// loseSupervisor kills what watches a command, and wants the command lost.
func (r *rig) loseSupervisor(t *testing.T, state berth.SandboxState) {
	t.Helper()
	if err := r.present.StartCommand(t.Context(), refOf(state), berth.CommandSpec{ID: "lost", Script: "echo begun; sleep 1"}); err != nil {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(filepath.Join(r.folder(state.ID), "c", "lost", "sup"))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if text, _, _, err := piece(r.present, refOf(state), "lost", 0); err == nil && text == "begun\n" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the command did not begin")
		}
	}
	if err := syscall.Kill(number, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if stdout, _, exit := streams(t, r.present, refOf(state), "lost"); stdout != "begun\n" || exit.Reason != berth.ExitLost {
		t.Errorf("a command that nothing watches: %q, %+v", stdout, exit)
	}
}

func TestFilesOfAnySizeGoThroughPlainCommands(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r, state := foreignRig(t, transport)
		ref := refOf(state)
		data := bytes.Repeat([]byte("0123456789abcd\x00\n"), 300_000)
		for _, name := range []string{"a/b c/large", "-dash", "new\nline", state.Workspace + "/absolute"} {
			info, err := r.present.WriteFile(t.Context(), ref, name, bytes.NewReader(data), int64(len(data)), 0o640, "")
			if err != nil || info.Size != int64(len(data)) || info.Mode != 0o640 {
				t.Fatalf("WriteFile(%q) = %+v, %v", name, info, err)
			}
			var got []byte
			for eof := false; !eof; {
				piece, err := r.present.ReadFile(t.Context(), ref, name, int64(len(got)), 0, "")
				if err != nil {
					t.Fatalf("ReadFile(%q): %v", name, err)
				}
				got, eof = append(got, piece.Data...), piece.EOF
			}
			if !bytes.Equal(got, data) {
				t.Errorf("%q came back with %d bytes of %d", name, len(got), len(data))
			}
		}
		for size, given := range map[int64]string{2: "abc", 4: "abc"} {
			if _, err := r.present.WriteFile(t.Context(), ref, "-dash", strings.NewReader(given), size, 0, ""); berth.CodeOf(err) != berth.CodeInvalid {
				t.Errorf("WriteFile of %q with size %d: %v", given, size, err)
			}
		}
		outside := t.TempDir()
		for link, to := range map[string]string{"out": outside, "file": filepath.Join(outside, "f")} {
			if err := os.Symlink(to, filepath.Join(state.Workspace, link)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"..", "../x", "/etc/passwd", "out/f", "out/new/f", "file", "a/../../x", "a\x00"} {
			_, readErr := r.present.ReadFile(t.Context(), ref, name, 0, 0, "")
			_, writeErr := r.present.WriteFile(t.Context(), ref, name, strings.NewReader("x"), 1, 0, "")
			if code := berth.CodeOf(readErr); code != berth.CodeInvalid && code != berth.CodeNotFound {
				t.Errorf("ReadFile(%q): %v", name, readErr)
			}
			if berth.CodeOf(writeErr) != berth.CodeInvalid {
				t.Errorf("WriteFile(%q): %v", name, writeErr)
			}
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
			t.Errorf("outside there is %v, %v", entries, err)
		}
		list, err := r.present.ReadFile(t.Context(), ref, "", 0, 0, "")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range list.Entries {
			names = append(names, string(e.Kind)+" "+e.Path)
		}
		want := []string{"file -dash", "directory a", "file absolute", "other file", "file new\nline", "other out"}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("the workspace (-want +got):\n%s", diff)
		}
		for name, code := range map[string]berth.Code{"-dash": "", "out": "", "a": berth.CodeConflict, "none": berth.CodeNotFound, ".": berth.CodeInvalid} {
			if err := r.present.DeleteFile(t.Context(), ref, name, ""); berth.CodeOf(err) != code {
				t.Errorf("DeleteFile(%q): %v, want %q", name, err, code)
			}
		}
		_, err = r.present.Grep(t.Context(), ref, berth.GrepQuery{Pattern: "x"})
		_, globErr := r.present.Glob(t.Context(), ref, berth.GlobQuery{Pattern: "*"})
		_, guardErr := r.present.WriteFile(t.Context(), ref, "g", io.LimitReader(nil, 0), 0, 0, "me")
		for _, err := range []error{err, globErr, guardErr} {
			if berth.CodeOf(err) != berth.CodeUnsupported {
				t.Errorf("%v, want unsupported", err)
			}
		}
	})
}
