//go:build linux

package exe_test

import (
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// Memory is counted: nothing else of this package runs meanwhile.
func TestExeKeepsTheContractOfProviders(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract of providers starts hundreds of processes: run without -short")
	}
	sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture {
		r := newRig(t, nil)
		return sandboxtest.Fixture{
			Provider: r.present,
			Spec:     spec,
			Reopen:   func(testing.TB) berth.Provider { return r.reopen() },
			KillGuest: func(t testing.TB, ref berth.SandboxRef) {
				sandboxtest.Kill(t, "berth-guest\x00-dir\x00"+filepath.Join(r.vm(t, ref.ID).SSH.Home, ".berth"))
			},
			Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
			Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
				var left []string
				for name := range r.server.VMs() {
					if name == "berth-"+string(id)+"-vm" {
						left = append(left, name)
					}
				}
				left = append(left, sandboxtest.Left(string(id))...)
				return left
			},
		}
	})
}
