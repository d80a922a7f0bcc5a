//go:build linux

package ssh_test

import (
	"os"
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
						sandboxtest.Kill(t, "berth-guest\x00-dir\x00"+r.folder(ref.ID))
					},
					Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
					Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
						left := sandboxtest.Left(string(id))
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
