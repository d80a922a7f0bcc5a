//go:build linux

package local_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

var lastID atomic.Int64

// newID is a ULID with a number at its end.
func newID() berth.SandboxID {
	n := "00000000" + strings.ToLower(strconv.FormatInt(lastID.Add(1), 10))
	return berth.SandboxID("01arz3ndektsv4rrff" + n[len(n)-8:])
}

func open(t testing.TB, config local.Config) *local.Provider {
	t.Helper()
	config.Installation = "test"
	p, err := local.New(config)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return p
}

func spec(t testing.TB) berth.SandboxSpec {
	return berth.SandboxSpec{ID: newID(), Installation: "test", Run: "01arz3ndektsv4rrffq69g5fav", Directory: t.TempDir()}
}

func TestLocalKeepsTheContractOfProviders(t *testing.T) {
	t.Parallel()
	guest := sandboxtest.BuildGuest(t)
	sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture {
		config := local.Config{Root: filepath.Join(t.TempDir(), "sandboxes"), GuestPath: guest}
		present := open(t, config)
		t.Cleanup(func() { present.Close() })
		return sandboxtest.Fixture{
			Provider: present,
			Spec:     spec,
			Reopen: func(sub testing.TB) berth.Provider {
				if err := present.Close(); err != nil {
					sub.Fatal(err)
				}
				present = open(sub, config)
				return present
			},
			KillGuest: func(t testing.TB, ref berth.SandboxRef) {
				if err := syscall.Kill(guestPID(t, config.Root, ref.ID), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			},
			Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(processes(marker)) },
			Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
				left := processes(string(id))
				if _, err := os.Stat(filepath.Join(config.Root, string(id))); !os.IsNotExist(err) {
					left = append(left, "its folder")
				}
				return left
			},
			GuestPeakBytes: func(t testing.TB, ref berth.SandboxRef) int64 {
				return peakBytes(t, guestPID(t, config.Root, ref.ID))
			},
		}
	})
}

// guestPID finds the guest by its command line, which names the folder.
func guestPID(t testing.TB, root string, id berth.SandboxID) int {
	t.Helper()
	pids := processes("berth-guest\x00-dir\x00" + filepath.Join(root, string(id)))
	if len(pids) != 1 {
		t.Fatalf("%d guests", len(pids))
	}
	pid, _ := strconv.Atoi(pids[0])
	return pid
}

// processes lists the living processes whose command line holds text.
func processes(text string) []string {
	var pids []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err == nil && bytes.Contains(b, []byte(text)) {
			pids = append(pids, filepath.Base(filepath.Dir(file)))
		}
	}
	return pids
}

func peakBytes(t testing.TB, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
