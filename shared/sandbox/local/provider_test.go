//go:build linux

package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/spool"
)

// stdout runs a script to its end.
func stdout(t *testing.T, p berth.Provider, id berth.SandboxID, script string, env map[string]string) string {
	t.Helper()
	ref := berth.SandboxRef{ID: id}
	command := berth.CommandSpec{ID: berth.CommandID("c" + string(sandboxtest.NewID())), Script: script, Env: env}
	if err := p.StartCommand(t.Context(), ref, command); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for offset := int64(0); ; {
		out, err := p.ReadOutput(t.Context(), ref, command.ID, offset, 0, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			text.Write(f.Data)
		}
		if offset = out.Next; out.Ended {
			return text.String()
		}
	}
}

func provision(t *testing.T, p *local.Provider, spec berth.SandboxSpec) berth.SandboxRef {
	t.Helper()
	state, err := p.Provision(t.Context(), spec)
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	return berth.SandboxRef{ID: spec.ID}
}

// ready is provision, with the end of it all at the test's end.
func ready(t *testing.T, p *local.Provider, spec berth.SandboxSpec) berth.SandboxRef {
	t.Helper()
	ref := provision(t, p, spec)
	t.Cleanup(func() {
		if err := p.Destroy(context.Background(), ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		p.Close()
	})
	return ref
}

func TestTheServersSecretsAreKeptFromCommands(t *testing.T) {
	t.Parallel()
	got := local.FilterEnviron([]string{
		"PATH=/bin", "HOME=/h", "MY_API_KEY=x", "my_token=x", "A_SECRET=x", "A_PASSWORD=x", "Some_Credential=x", "BERTH_TOKEN=x", "BERTH_DATA_DIR=x",
		"TOKEN=kept", "SECRET_NAME=kept", "NVM_DIR=n", "GOPATH=g", "EMPTY=", "WITH=a=b",
	})
	want := []string{"PATH=/bin", "HOME=/h", "TOKEN=kept", "SECRET_NAME=kept", "NVM_DIR=n", "GOPATH=g", "EMPTY=", "WITH=a=b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FilterEnviron (-want +got):\n%s", diff)
	}
}

func TestCommandsInheritTheFilteredEnvironmentExactly(t *testing.T) {
	t.Parallel()
	p := open(t, local.Config{
		Root: filepath.Join(t.TempDir(), "s"), GuestPath: sandboxtest.BuildGuest(t),
		Environ: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/home/x", "ODD=a\n\"$b\" =\xff ", "SERVER_TOKEN=canary", "BERTH_X=canary", "BASH_ENV=/nowhere",
			"PWD=/stale", "OLDPWD=/stale", "SHLVL=7", "_=stale", "with.dot=kept",
		},
	})
	spec := spec(t)
	ready(t, p, spec)
	got := stdout(t, p, spec.ID, `env -0 | tr '\0' '|'`, map[string]string{"DECLARED_TOKEN": "mine", "HOME": "/other"})
	want := "PATH=" + os.Getenv("PATH") + "|ODD=a\n\"$b\" =\xff |with.dot=kept|PWD=" + spec.Directory + "|DECLARED_TOKEN=mine|HOME=/other|"
	sorted := func(s string) map[string]bool {
		set := map[string]bool{}
		for _, entry := range strings.Split(s, "|") {
			if name, _, _ := strings.Cut(entry, "="); name != "SHLVL" && name != "_" && name != "OLDPWD" { // the shell's own
				set[entry] = true
			}
		}
		return set
	}
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestABashThatIsMissingOrBrokenIsToldAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	broken := filepath.Join(t.TempDir(), "bash")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, bash := range []string{broken, filepath.Join(t.TempDir(), "none")} {
		root := filepath.Join(t.TempDir(), "s")
		p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t), Bash: bash})
		defer p.Close()
		spec := spec(t)
		state, err := p.Provision(t.Context(), spec)
		if err != nil || state.Status != berth.SandboxFailed || state.Reason.Code != berth.ReasonBashMissing || state.Reason.Remediation == "" {
			t.Errorf("Provision with bash %s = %+v, %v", bash, state, err)
		}
		nothingLeft(t, p, root, spec)
	}
}

func TestADirectoryThatIsMissingIsTold(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "s")
	p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t)})
	defer p.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "relative", "/no/such/folder", file} {
		spec := spec(t)
		spec.Directory = dir
		state, err := p.Provision(t.Context(), spec)
		if err != nil || state.Status != berth.SandboxFailed || state.Reason.Code != berth.ReasonDirectoryMissing {
			t.Errorf("Provision in %q = %+v, %v", dir, state, err)
		}
		nothingLeft(t, p, root, spec)
	}
	for _, id := range []berth.SandboxID{"", "..", "x/y", "01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		_, err := p.Provision(t.Context(), berth.SandboxSpec{ID: id, Directory: t.TempDir()})
		if berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("Provision of %q: %v", id, err)
		}
	}
}

func TestAGuestThatCannotBeStartedLeavesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	root := filepath.Join(t.TempDir(), "s")
	p := open(t, local.Config{Root: root, GuestPath: "/no/such/guest"})
	defer p.Close()
	spec := spec(t)
	if _, err := p.Provision(t.Context(), spec); err == nil {
		t.Error("Provision did not fail")
	}
	nothingLeft(t, p, root, spec)
}

func nothingLeft(t *testing.T, p *local.Provider, root string, spec berth.SandboxSpec) {
	t.Helper()
	if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if state, err := p.Describe(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	if spec.ID != "" && len(sandboxtest.Processes(string(spec.ID))) > 0 {
		t.Error("a guest is left")
	}
}

func TestALongPathOfTheDataFolderIsNoProblem(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many guests")
	}
	root := filepath.Join(t.TempDir(), strings.Repeat("deep/", 40)+"s")
	p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t)})
	spec := spec(t)
	ready(t, p, spec)
	if got := stdout(t, p, spec.ID, "echo x", nil); got != "x\n" {
		t.Errorf("output %q", got)
	}
}

func TestOtherInstallationsSandboxesAreLeftAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	config := local.Config{Root: filepath.Join(t.TempDir(), "s"), GuestPath: sandboxtest.BuildGuest(t)}
	p := open(t, config)
	spec := spec(t)
	ready(t, p, spec)
	config.Installation = "other"
	other, err := local.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if list, err := other.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if got := stdout(t, p, spec.ID, "echo x", nil); got != "x\n" {
		t.Errorf("output %q", got)
	}
}

func TestATornRecordIsASandboxLostAndNoMore(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "s")
	for id, text := range map[berth.SandboxID]string{sandboxtest.NewID(): "", sandboxtest.NewID(): "{\"run\":\"01", sandboxtest.NewID(): "\x00\x00"} {
		if err := os.MkdirAll(filepath.Join(root, string(id)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, string(id), "meta.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, local.Config{Root: root, GuestPath: "/nowhere"})
	defer p.Close()
	if list, err := p.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("there is left: %v, %v", left, err)
	}
}

func TestAGuestWhoseFolderIsRemovedEndsWithItsCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many guests")
	}
	root := filepath.Join(t.TempDir(), "s")
	p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t)})
	spec := spec(t)
	ref := provision(t, p, spec)
	// Its name is the sandbox's: another run of this test has its own.
	sleep := []string{"/bin/bash", "-c", `exec -a "$0" sleep 1000`, string(spec.ID)}
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Argv: sleep}); err != nil {
		t.Fatal(err)
	}
	if got := sandboxtest.Processes(string(spec.ID)); len(got) < 2 {
		t.Fatalf("the guest and its command are %v", got)
	}
	p.Close()
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if len(sandboxtest.Processes(string(spec.ID))) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, pid := range sandboxtest.Processes(string(spec.ID)) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.Errorf("%d is still there: %q", pid, line)
	}
}

func TestAStopThatTheServersDeathCutShortIsFinished(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	config := local.Config{Root: filepath.Join(t.TempDir(), "s"), GuestPath: sandboxtest.BuildGuest(t)}
	p := open(t, config)
	spec := spec(t)
	ref := provision(t, p, spec)
	p.Close()
	// What Stop records first.
	meta := filepath.Join(config.Root, string(spec.ID), "meta.json")
	b, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(meta, []byte(strings.Replace(string(b), `"ready"`, `"stopped"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	next := open(t, config)
	defer next.Close()
	if state, err := next.Describe(t.Context(), ref); err != nil || state.Status != berth.SandboxStopped {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	if n := len(sandboxtest.Processes(string(spec.ID))); n != 0 {
		t.Errorf("%d guests", n)
	}
	if err := next.Destroy(t.Context(), ref); err != nil {
		t.Error(err)
	}
}

func TestTheFoldersAreClosedToOthers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	root := filepath.Join(t.TempDir(), "s")
	p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t)})
	spec := spec(t)
	ready(t, p, spec)
	stdout(t, p, spec.ID, "echo x", nil)
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode()&os.ModeSocket == 0 && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestASecretIsInNoFileAndNoArgument(t *testing.T) {
	t.Parallel()
	const canary = "canary-5f1e9c"
	root := filepath.Join(t.TempDir(), "s")
	p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t)})
	spec := spec(t)
	ref := ready(t, p, spec)
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{
		ID: "c", Script: `echo "$S"; sleep 600`, Env: map[string]string{"S": canary}, Mask: []berth.SecretValue{berth.NewSecretValue([]byte(canary))},
	}); err != nil {
		t.Fatal(err)
	}
	for offset := int64(0); offset < 200; { // start frame and output
		out, err := p.ReadOutput(t.Context(), ref, "c", offset, 0, 10*time.Second)
		if err != nil || out.Ended {
			t.Fatalf("ReadOutput = %+v, %v", out, err)
		}
		if offset = out.Next; strings.Contains(string(out.Bytes), "***") {
			break
		}
	}
	if pids := sandboxtest.Processes(canary); len(pids) > 0 {
		t.Errorf("it is an argument of %v", pids)
	}
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), canary) {
			t.Errorf("%s holds it", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAGuestOutlivesSignalsToTheServersGroup(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	root := filepath.Join(t.TempDir(), "s")
	p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t)})
	spec := spec(t)
	ready(t, p, spec)
	pid := guestPID(t, root, spec.ID)
	if session, err := syscallGetsid(pid); err != nil || session != pid {
		t.Errorf("the guest's session is %d, %v; want its own %d", session, err, pid)
	}
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGUSR1} {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
	}
	if got := stdout(t, p, spec.ID, "echo x", nil); got != "x\n" {
		t.Errorf("output %q", got)
	}
}

func syscallGetsid(pid int) (int, error) {
	session, _, errno := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(session), nil
}
