//go:build linux

package relay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// Memory is counted: nothing else of this package runs meanwhile.
func TestARelayKeepsTheContractOfProviders(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract of providers starts hundreds of processes: run without -short")
	}
	guest := sandboxtest.BuildGuest(t)
	for _, base64 := range []bool{false, true} {
		t.Run(fmt.Sprint("base64 ", base64), func(t *testing.T) {
			t.Parallel()
			sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture { return fixture(t, guest, base64) })
		})
	}
}

func fixture(t *testing.T, guest string, base64 bool) sandboxtest.Fixture {
	config := machineConfig{root: t.TempDir(), guest: guest, base64: base64}
	present := newMachine(config)
	t.Cleanup(func() { present.Close() })
	guestOf := func(id berth.SandboxID) string {
		return "berth-guest\x00-dir\x00" + filepath.Join(config.root, string(id))
	}
	return sandboxtest.Fixture{
		Provider: present,
		Spec:     spec,
		Reopen: func(sub testing.TB) berth.Provider {
			if err := present.Close(); err != nil {
				sub.Fatal(err)
			}
			present = newMachine(config)
			return present
		},
		KillGuest: func(t testing.TB, ref berth.SandboxRef) { sandboxtest.Kill(t, guestOf(ref.ID)) },
		Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
		Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
			left := sandboxtest.Left(filepath.Join(config.root, string(id)))
			if _, err := os.Stat(filepath.Join(config.root, string(id))); !os.IsNotExist(err) {
				left = append(left, "its folder")
			}
			return left
		},
		GuestPeakBytes: func(t testing.TB, ref berth.SandboxRef) int64 {
			return max(sandboxtest.PeakBytes(t, sandboxtest.Process(t, guestOf(ref.ID))), sandboxtest.PeakBytes(t, sandboxtest.Process(t, "berth-guest\x00daemon\x00-root\x00"+filepath.Join(config.root, string(ref.ID)))))
		},
	}
}
