//go:build linux

package local_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// limitMemory moves a process into a control group of its own with 48 MiB.
func limitMemory(t *testing.T, pid int) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skipf("there are no control groups: %v", err)
	}
	dir, limit := "", ""
	for line := range strings.Lines(string(self)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && parts[1] == "memory" {
			dir, limit = filepath.Join("/sys/fs/cgroup/memory", parts[2]), "memory.limit_in_bytes"
		} else if len(parts) == 3 && parts[1] == "" && dir == "" {
			dir, limit = filepath.Join("/sys/fs/cgroup", parts[2]), "memory.max"
		}
	}
	group := filepath.Join(dir, "berth-test-"+strconv.Itoa(os.Getpid()))
	err = os.Mkdir(group, 0o755)
	t.Cleanup(func() { _ = os.Remove(group) }) // only an empty group can be removed
	for _, step := range [][2]string{{limit, "50331648"}, {"cgroup.procs", strconv.Itoa(pid)}} {
		if err == nil {
			err = os.WriteFile(filepath.Join(group, step[0]), []byte(step[1]), 0o644)
		}
	}
	if err != nil {
		t.Skipf("a control group cannot be made: %v", err)
	}
}

func TestTheMemoryLimitIsNamedAsTheReason(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	root := filepath.Join(t.TempDir(), "s")
	p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t)})
	spec := spec(t)
	ref := provision(t, p, spec)
	// Before the cleanup, which removes the control group: it must be empty then.
	defer func() {
		if err := p.Destroy(context.Background(), ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		p.Close()
	}()
	limitMemory(t, guestPID(t, root, spec.ID))
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Argv: []string{"tail", "/dev/zero"}}); err != nil {
		t.Fatal(err)
	}
	for offset, until := int64(0), time.Now().Add(time.Minute); time.Now().Before(until); {
		out, err := p.ReadOutput(t.Context(), ref, "c", offset, 0, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if offset = out.Next; out.Ended {
			if out.Exit.Reason != berth.ExitOutOfMemory || out.Exit.Code != 137 || !strings.Contains(out.Exit.Message, "48 MiB") {
				t.Errorf("exit %+v", *out.Exit)
			}
			return
		}
	}
	t.Error("the command does not end")
}
