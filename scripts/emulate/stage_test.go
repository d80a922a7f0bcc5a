package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/emulator"
)

// sleeper starts a process that does nothing, in a group of its own.
func sleeper(t *testing.T) (*exec.Cmd, emulator.Process) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	alone(cmd)
	if err := cmd.Start(); err != nil {
		t.Skipf("there is no program sleep: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	p, err := emulator.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, p
}

func newStage(t *testing.T, now state) (stage, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	s := stage{folder: filepath.Join(t.TempDir(), "emulate"), kind: emulator.Ministack, out: &said}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.save(now); err != nil {
		t.Fatal(err)
	}
	return s, &said
}

func TestDownEndsWhatWasStartedAndNothingElse(t *testing.T) {
	t.Parallel()
	_, mine := sleeper(t)
	_, other := sleeper(t)
	// A process that only has the number of one that is long gone.
	stranger := other
	stranger.Started += "0"
	s, said := newStage(t, state{Emulator: emulator.Ministack, Processes: []emulator.Process{mine, stranger}})
	if err := s.down(); err != nil {
		t.Fatal(err)
	}
	if mine.Runs() {
		t.Error("what was started runs on")
	}
	if !other.Runs() {
		t.Error("a process that was not started here has ended")
	}
	if _, err := os.Stat(s.folder); !os.IsNotExist(err) {
		t.Errorf("its state is left: %v", err)
	}
	if got := said.String(); got != "ministack has ended.\n" {
		t.Errorf("down says %q", got)
	}
	said.Reset()
	if err := s.down(); err != nil || said.String() != "no emulator is running.\n" {
		t.Errorf("down again = %v, and says %q", err, said.String())
	}
}

func TestUpSaysThatOneRunsAlready(t *testing.T) {
	t.Parallel()
	_, p := sleeper(t)
	s, said := newStage(t, state{
		Emulator: emulator.Ministack, Endpoint: "http://127.0.0.1:4566", Processes: []emulator.Process{p},
		URL: "http://127.0.0.1:4566/_aws/execute-api/abc/v1", Key: "bth_the-key",
	})
	if err := s.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ministack is running already.", "/_aws/execute-api/abc/v1\n", "bth_the-key"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("up does not say %q:\n%s", want, said)
		}
	}
	if !p.Runs() {
		t.Error("up ended what runs")
	}
	s.kind = emulator.LocalStack
	if err := s.up(t.Context()); err == nil || !strings.Contains(err.Error(), "make emulate-down") {
		t.Errorf("up of another emulator = %v, want that one runs", err)
	}
}

func TestTheStateIsForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	s, _ := newStage(t, state{Key: "bth_the-key"})
	info, err := os.Stat(s.path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state is %v, %v, want 0600", info.Mode(), err)
	}
}
