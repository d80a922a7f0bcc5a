//go:build linux

package local_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// TestMain lets this test binary be a server: root, guest, sandbox id, directory.
func TestMain(m *testing.M) {
	sandboxtest.Main(m, func(args []string) (berth.Provider, berth.SandboxSpec, error) {
		p, err := local.New(local.Config{Root: args[0], GuestPath: args[1], Installation: "test"})
		return p, berth.SandboxSpec{ID: berth.SandboxID(args[2]), Installation: "test", Run: "r", Directory: args[3]}, err
	})
}

func TestAServerKilledAtAnyMomentLosesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many guests")
	}
	guest := sandboxtest.BuildGuest(t)
	for seed := range 20 {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 0))
			config := local.Config{Root: filepath.Join(t.TempDir(), "s"), GuestPath: guest}
			spec := spec(t)
			for range 3 {
				// Half of the moments lie in the making of the sandbox.
				sandboxtest.KillServer(t, seed%2 == 0, time.Duration(rnd.IntN(60_000))*time.Microsecond,
					config.Root, config.GuestPath, string(spec.ID), spec.Directory)
			}
			p := open(t, config)
			defer p.Close()
			got, err := sandboxtest.Finish(p, spec)
			if err != nil {
				t.Fatal(err)
			}
			if got != sandboxtest.Counted() {
				t.Errorf("output is not every line once: %q", got)
			}
			// A guest whose server died before it wrote it down ends by itself.
			guests := 0
			for range 500 {
				if guests = len(sandboxtest.Processes(string(spec.ID))); guests == 1 {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			if guests != 1 {
				t.Errorf("%d guests, want 1", guests)
			}
			if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
				t.Error(err)
			}
			if left := sandboxtest.Processes(string(spec.ID)); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}
