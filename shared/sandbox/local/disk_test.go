//go:build linux

package local_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// fill leaves no room on a disk.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 1 << 10 {
		if _, err := f.Write(make([]byte, 4<<10)); err != nil {
			return
		}
	}
	t.Fatal("the disk does not get full")
}

func TestAFullDiskCutsOutputAndNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many guests")
	}
	disk := sandboxtest.SmallDisk(t)
	p := open(t, local.Config{Root: filepath.Join(disk, "s"), GuestPath: sandboxtest.BuildGuest(t)})
	spec := spec(t)
	ref := ready(t, p, spec)
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 200<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	// More than there is room for, then proof that the command goes on.
	command := berth.CommandSpec{ID: "c", Script: "head -c 2000000 /dev/zero | tr '\\0' x; touch went-on; exit 3"}
	if err := p.StartCommand(t.Context(), ref, command); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if _, err := os.Stat(filepath.Join(spec.Directory, "went-on")); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	fill(t, filepath.Join(disk, "rest"))
	_, err := p.Provision(t.Context(), func() berth.SandboxSpec { s := spec; s.ID = sandboxtest.NewID(); return s }())
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "no space") {
		t.Errorf("Provision on a full disk: %v", err)
	}
	err = p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "d", Script: "true"})
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "no space") {
		t.Errorf("StartCommand on a full disk: %v", err)
	}
	for _, file := range []string{filler, filepath.Join(disk, "rest")} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	var got bytes.Buffer
	var exit *berth.Exit
	for offset, until := int64(0), time.Now().Add(time.Minute); exit == nil && time.Now().Before(until); {
		out, err := p.ReadOutput(t.Context(), ref, "c", offset, 0, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(out.Bytes)
		offset, exit = out.Next, out.Exit
	}
	if exit == nil || exit.Code != 3 || exit.Reason != berth.ExitExited || !strings.Contains(exit.Message, "output was cut") {
		t.Errorf("exit %+v after %d bytes", exit, got.Len())
	}
	if out := stdout(t, p, spec.ID, "echo x", nil); out != "x\n" {
		t.Errorf("with room again: %q", out)
	}
}
