//go:build linux

package relay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
		KillGuest: func(t testing.TB, ref berth.SandboxRef) { kill(t, guestOf(ref.ID)) },
		Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(processes(marker)) },
		Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
			var left []string
			for _, pid := range processes(filepath.Join(config.root, string(id))) {
				left = append(left, fmt.Sprint("process ", pid))
			}
			if _, err := os.Stat(filepath.Join(config.root, string(id))); !os.IsNotExist(err) {
				left = append(left, "its folder")
			}
			return left
		},
		GuestPeakBytes: func(t testing.TB, ref berth.SandboxRef) int64 {
			return max(peakBytes(t, guestOf(ref.ID)), peakBytes(t, "berth-guest\x00daemon\x00-root\x00"+filepath.Join(config.root, string(ref.ID))))
		},
	}
}

func peakBytes(t testing.TB, text string) int64 {
	t.Helper()
	pids := processes(text)
	if len(pids) != 1 {
		t.Fatalf("%d processes of %q, want 1", len(pids), text)
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pids[0]) + "/status")
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
