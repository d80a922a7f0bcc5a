//go:build linux

package local_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

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
	return berth.SandboxSpec{ID: sandboxtest.NewID(), Installation: "test", Run: "01arz3ndektsv4rrffq69g5fav", Directory: t.TempDir()}
}

func TestLocalKeepsTheContractOfProviders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many guests")
	}
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
			Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
			Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
				left := sandboxtest.Left(string(id))
				if _, err := os.Stat(filepath.Join(config.Root, string(id))); !os.IsNotExist(err) {
					left = append(left, "its folder")
				}
				return left
			},
			GuestPeakBytes: func(t testing.TB, ref berth.SandboxRef) int64 {
				return sandboxtest.PeakBytes(t, guestPID(t, config.Root, ref.ID))
			},
		}
	})
}

// guestPID finds the guest by its command line, which names the folder.
func guestPID(t testing.TB, root string, id berth.SandboxID) int {
	t.Helper()
	return sandboxtest.Process(t, "berth-guest\x00-dir\x00"+filepath.Join(root, string(id)))
}
