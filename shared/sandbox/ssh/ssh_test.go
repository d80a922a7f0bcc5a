//go:build linux

package ssh_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
	"github.com/berth-dev/berth/shared/shell/sshdtest"
	"github.com/berth-dev/berth/shared/spool"
)

func each(t *testing.T, test func(t *testing.T, transport string)) {
	t.Parallel()
	for transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			test(t, transport)
		})
	}
}

// ready provisions a sandbox, which ends with the test.
func (r *rig) ready(t *testing.T, spec berth.SandboxSpec) berth.SandboxState {
	t.Helper()
	state, err := r.present.Provision(t.Context(), spec)
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	t.Cleanup(func() {
		if err := r.present.Destroy(context.Background(), refOf(state)); err != nil {
			t.Errorf("Destroy: %v", err)
		}
	})
	return state
}

func refOf(s berth.SandboxState) berth.SandboxRef { return berth.SandboxRef{ID: s.ID, Ref: s.Ref} }

// piece reads a piece of both streams.
func piece(p berth.Provider, ref berth.SandboxRef, id berth.CommandID, offset int64) (text string, next int64, exit *berth.Exit, err error) {
	out, err := p.ReadOutput(context.Background(), ref, id, offset, 0, 5*time.Second)
	if err != nil {
		return "", offset, nil, err
	}
	frames, _, err := spool.Decode(out.Bytes)
	for _, f := range frames {
		text += string(f.Data)
	}
	return text, out.Next, out.Exit, err
}

// output reads a command to its end.
func output(t *testing.T, p berth.Provider, ref berth.SandboxRef, id berth.CommandID) (string, berth.Exit) {
	t.Helper()
	stdout, stderr, exit := streams(t, p, ref, id)
	return stdout + stderr, exit
}

// streams reads a command to its end.
func streams(t *testing.T, p berth.Provider, ref berth.SandboxRef, id berth.CommandID) (stdout, stderr string, exit berth.Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text := map[berth.Stream]*strings.Builder{berth.Stdout: {}, berth.Stderr: {}, berth.Mark: {}}
	for offset := int64(0); ; {
		out, err := p.ReadOutput(ctx, ref, id, offset, 0, 5*time.Second)
		if err != nil {
			t.Fatalf("ReadOutput(%s, %d): %v", id, offset, err)
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			text[f.Stream].Write(f.Data)
		}
		if offset = out.Next; out.Ended {
			return text[berth.Stdout].String(), text[berth.Stderr].String(), *out.Exit
		}
	}
}

func TestAServerOfSSHThatIsKilledLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r := newRig(t, transport)
		ref := refOf(r.ready(t, r.spec(t)))
		const lines = 1000
		script := fmt.Sprintf("for i in {1..%d}; do echo $i; read -t 0.003 <> <(:); done; exit 9", lines)
		if err := r.present.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "counter", Script: script}); err != nil {
			t.Fatal(err)
		}
		over := make(chan struct{})
		var cutter sync.WaitGroup
		cutter.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(700 * time.Millisecond):
					r.server.Cut()
				}
			}
		})
		got, exit := output(t, r.present, ref, "counter")
		close(over)
		cutter.Wait()
		var want strings.Builder
		for i := range lines {
			fmt.Fprintln(&want, i+1)
		}
		if got != want.String() || exit != (berth.Exit{Code: 9, Reason: berth.ExitExited}) {
			t.Errorf("output is not every line once: %+v, %d bytes of %d", exit, len(got), want.Len())
		}
		if n := r.server.Connections(); n < 3 {
			t.Errorf("%d connections: it was hardly cut", n)
		}
	})
}

func TestWhatIsWrongWithADestinationIsToldBeforeAnythingIsMade(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r := newRig(t, transport)
		for _, tt := range []struct {
			name  string
			wrong func(o *berth.SSHOptions)
			code  berth.Code
			words string
		}{
			{"a name that does not resolve", func(o *berth.SSHOptions) { o.Destination = "u@" + sshdtest.NoHost }, berth.CodeInvalid, "does not resolve"},
			{"no destination", func(o *berth.SSHOptions) { o.Destination = "" }, berth.CodeInvalid, "destination"},
			{"no directory", func(o *berth.SSHOptions) { o.WorkingDirectory = "" }, berth.CodeInvalid, "working_directory"},
		} {
			spec := r.spec(t)
			tt.wrong(spec.Environment.SSH)
			state, err := r.present.Provision(t.Context(), spec)
			if berth.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%s: %+v, %v", tt.name, state, err)
			}
			if err := r.present.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
				t.Errorf("%s: Destroy: %v", tt.name, err)
			}
		}
		if _, err := os.Stat(filepath.Join(r.server.Home, ".berth", "test")); !os.IsNotExist(err) {
			t.Errorf("something was made: %v", err)
		}
	})
}

func TestAHostWithAnotherKeyIsSentNothing(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r := newRig(t, transport)
		state := r.ready(t, r.spec(t))
		before := r.server.KnownHosts
		known := filepath.Join(filepath.Dir(r.server.ClientConfig), "known_hosts")
		change := func(text []byte) {
			r.server.KnownHosts = text
			if err := os.WriteFile(known, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		change(append([]byte("[127.0.0.1]:"+r.server.Port+" "), sshdtest.NewHostKey(t)...))
		p := r.reopen()
		err := p.StartCommand(t.Context(), refOf(state), berth.CommandSpec{ID: "c", Argv: []string{"true"}})
		if berth.CodeOf(err) != berth.CodeForbidden || !strings.Contains(err.Error(), "has changed") {
			t.Errorf("StartCommand: %v", err)
		}
		if err := p.Destroy(t.Context(), refOf(state)); berth.CodeOf(err) != berth.CodeForbidden {
			t.Errorf("Destroy of a sandbox that was ready: %v", err)
		}
		change(before)
		r.reopen()
	})
}

func TestAWorkingDirectoryThatIsAFileIsToldAndNothingIsLeft(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r := newRig(t, transport)
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{file, filepath.Join(file, "below")} {
			spec := r.spec(t)
			spec.Environment.SSH.WorkingDirectory = dir
			state, err := r.present.Provision(t.Context(), spec)
			if err != nil || state.Status != berth.SandboxFailed || state.Reason.Code != berth.ReasonDirectoryMissing || state.Reason.Remediation == "" {
				t.Errorf("Provision in %s = %+v, %v", dir, state, err)
			}
			if _, err := os.Stat(r.folder(spec.ID)); !os.IsNotExist(err) || len(sandboxtest.Processes(string(spec.ID))) > 0 {
				t.Errorf("something is left: %v", err)
			}
		}
	})
}

func TestTwoRunsDoNotShareADirectory(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	first := r.spec(t)
	r.ready(t, first)
	second := r.spec(t)
	second.Environment.SSH.WorkingDirectory = first.Environment.SSH.WorkingDirectory
	state, err := r.present.Provision(t.Context(), second)
	if err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "another sandbox uses") {
		t.Errorf("Provision = %+v, %v", state, err)
	}
	if _, err := os.Stat(r.folder(second.ID)); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
}

func TestASandboxWhoseRefWasNeverRecordedIsFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	spec := r.spec(t)
	if _, err := r.present.Provision(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	p := r.reopen() // the server died before it wrote down what it had made
	if state, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil || state.Status != berth.SandboxReady {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
		t.Fatal(err)
	}
	if left := sandboxtest.Processes(string(spec.ID)); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := os.Stat(spec.Environment.SSH.WorkingDirectory); err != nil {
		t.Errorf("the working directory, which is the user's: %v", err)
	}
}

func TestAServerThatDiedWhileItMadeASandboxLeavesNone(t *testing.T) {
	each(t, func(t *testing.T, transport string) {
		r := newRig(t, transport)
		r.ready(t, r.spec(t)) // the program is there
		half := r.spec(t)     // and of another sandbox only the folder
		if err := os.MkdirAll(r.folder(half.ID), 0o700); err != nil {
			t.Fatal(err)
		}
		list, err := r.present.List(t.Context())
		if err != nil || len(list) != 2 {
			t.Fatalf("List = %+v, %v; want both", list, err)
		}
		for _, state := range list {
			if state.ID != half.ID {
				continue
			}
			if err := r.present.Destroy(t.Context(), refOf(state)); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(r.folder(half.ID)); !os.IsNotExist(err) || len(sandboxtest.Processes(string(half.ID))) > 0 {
			t.Errorf("something is left: %v", err)
		}
	})
}

func TestASandboxThatPowerTookFromItsHostIsSweptAndHidesNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	other := r.ready(t, r.spec(t))
	for _, torn := range []string{"sandboxes/ID/meta.json", "daemon.log"} {
		spec := r.spec(t)
		if _, err := r.present.Provision(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		p := r.reopen()
		for range 2 { // the daemon, and the guest that it had
			for _, pid := range sandboxtest.Processes(string(spec.ID)) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		path := filepath.Join(r.folder(spec.ID), strings.ReplaceAll(torn, "ID", string(spec.ID)))
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if torn == "daemon.log" { // in whose place nothing can be opened
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := p.List(t.Context())
		if err != nil || len(list) != 2 || list[0].ID != other.ID || list[0].Status != berth.SandboxReady || list[1].Status != berth.SandboxFailed {
			t.Fatalf("%s: List = %+v, %v; want both", torn, list, err)
		}
		if torn == "daemon.log" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Destroy(t.Context(), refOf(list[1])); err != nil {
			t.Errorf("%s: Destroy: %v", torn, err)
		}
		if _, err := os.Stat(r.folder(spec.ID)); !os.IsNotExist(err) || len(sandboxtest.Left(string(spec.ID))) > 0 {
			t.Errorf("%s: something is left: %v, %v", torn, err, sandboxtest.Left(string(spec.ID)))
		}
	}
}

func TestTheListIsOfThisInstallationAndOfHostsThatAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	state := r.ready(t, r.spec(t))
	other := r.config
	other.Installation = "other"
	stranger := ssh.New(other)
	defer stranger.Close()
	theirs, err := stranger.Provision(t.Context(), r.spec(t))
	if err != nil {
		t.Fatal(err)
	}
	gone := r.spec(t)
	gone.Environment.SSH.Destination = sshdtest.NoHost
	p := r.reopen()
	list, err := p.List(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != state.ID || list[0].Ref != state.Ref || list[0].Run != state.Run {
		t.Errorf("List = %+v, %v; want %+v", list, err, state)
	}
	if list, err := stranger.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != theirs.ID {
		t.Errorf("List of the other = %+v, %v", list, err)
	}
	if err := stranger.Destroy(t.Context(), refOf(theirs)); err != nil {
		t.Error(err)
	}
}

func TestAPersonIsToldHowToGetIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	spec := r.spec(t)
	spec.Environment.SSH.PreviewURLBase = "http://devbox"
	state := r.ready(t, spec)
	want := berth.ShellQuote("ssh", "-t", "-F", r.server.ClientConfig, "box", "cd "+berth.ShellQuote(spec.Environment.SSH.WorkingDirectory)+" && exec bash -i")
	if got, err := r.present.OpenShell(t.Context(), refOf(state), time.Hour); err != nil || got != want {
		t.Errorf("OpenShell = %q, %v; want %q", got, err, want)
	}
	if got, err := r.present.Preview(t.Context(), refOf(state), 3000, time.Hour); err != nil || got != "http://devbox:3000" {
		t.Errorf("Preview = %q, %v", got, err)
	}
	if _, err := r.present.Preview(t.Context(), refOf(state), 0, time.Hour); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("Preview of port 0: %v", err)
	}
	plain := r.ready(t, r.spec(t))
	if _, err := r.present.Preview(t.Context(), refOf(plain), 3000, time.Hour); berth.CodeOf(err) != berth.CodeUnsupported {
		t.Errorf("Preview without a base: %v", err)
	}
}

func TestCommandsSeeTheEnvironmentOfTheHostAndNoneOfTheConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	ref := refOf(r.ready(t, r.spec(t)))
	spec := berth.CommandSpec{ID: "env", Script: `echo "$HOME|$DECLARED|${SSH_CONNECTION-none}|${SSH_CLIENT-none}"`, Env: map[string]string{"DECLARED": "x y"}}
	if err := r.present.StartCommand(t.Context(), ref, spec); err != nil {
		t.Fatal(err)
	}
	if got, _ := output(t, r.present, ref, "env"); got != r.server.Home+"|x y|none|none\n" {
		t.Errorf("the environment is %q", got)
	}
}
