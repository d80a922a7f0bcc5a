//go:build linux

package exe_test

import (
	"fmt"
	"path/filepath"
	"syscall"
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
				pids := processes("berth-guest\x00-dir\x00" + filepath.Join(r.vm(t, ref.ID).SSH.Home, ".berth"))
				if len(pids) != 1 {
					t.Fatalf("%d guests", len(pids))
				}
				if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			},
			Processes: func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(processes(marker)) },
			Leftovers: func(_ testing.TB, id berth.SandboxID) []string {
				var left []string
				for name := range r.server.VMs() {
					if name == "berth-"+string(id)+"-vm" {
						left = append(left, name)
					}
				}
				for _, pid := range processes(string(id)) {
					left = append(left, fmt.Sprint("process ", pid))
				}
				return left
			},
		}
	})
}
