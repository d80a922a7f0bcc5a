//go:build linux

package ssh_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// Memory is counted: nothing else of this package runs meanwhile.
func TestSSHKeepsTheContractOfProviders(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract of providers starts hundreds of processes: run without -short")
	}
	for transport := range transports {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture {
				r := newRig(t, transport)
				return sandboxtest.Fixture{
					Provider: r.present,
					Spec:     r.spec,
					Reopen:   func(testing.TB) berth.Provider { return r.reopen() },
					KillGuest: func(t testing.TB, ref berth.SandboxRef) {
						pids := processes("berth-guest\x00-dir\x00" + r.folder(ref.ID))
						if len(pids) != 1 {
							t.Fatalf("%d guests", len(pids))
						}
						pid, _ := strconv.Atoi(pids[0])
						if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
							t.Fatal(err)
						}
					},
					Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(processes(marker)) },
					Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
						left := processes(string(id))
						if _, err := os.Stat(r.folder(id)); !os.IsNotExist(err) {
							left = append(left, "its folder")
						}
						return left
					},
				}
			})
		})
	}
}
