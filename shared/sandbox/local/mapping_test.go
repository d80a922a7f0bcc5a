//go:build linux

package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many guests")
	}
	root := filepath.Join(t.TempDir(), "sandboxes")
	p := open(t, local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t)})
	t.Cleanup(func() { p.Close() })
	sandboxtest.RunMapping(t, sandboxtest.Mapping{
		Kind: berth.ProviderLocal,
		Seen: map[string]sandboxtest.Look{
			`network.mode = "allow_all"`: func(t *testing.T, m sandboxtest.Mapped) (got, want any) {
				ours, err := os.Readlink("/proc/self/ns/net")
				if err != nil {
					t.Fatal(err)
				}
				return m.Output(t, "readlink /proc/self/ns/net"), ours + "\n"
			},
			// The server resolves it to the folder of the spec.
			"cwd": func(t *testing.T, m sandboxtest.Mapped) (got, want any) {
				return m.Output(t, "pwd"), m.Spec.Directory + "\n"
			},
		},
		Open: func(*testing.T, berth.Effect) sandboxtest.MappingRig {
			return sandboxtest.MappingRig{Provider: p, Spec: spec, Calls: func() int {
				folders, _ := os.ReadDir(root) // there is none before the first sandbox
				return len(folders)
			}}
		},
	})
}
