//go:build linux

package exe_test

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	image := func(want string) sandboxtest.Look {
		return func(t *testing.T, m sandboxtest.Mapped) (got, _ any) { return r.vm(t, m.Spec.ID).Image, want }
	}
	sandboxtest.RunMapping(t, sandboxtest.Mapping{
		Kind: berth.ProviderExe,
		Fields: map[string]func(*berth.Environment){
			"exe.image": func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "ghcr.io/o/i:1"} },
		},
		Seen: map[string]sandboxtest.Look{
			"exe": image("i"), "exe.image": image("ghcr.io/o/i:1"),
			`network.mode = "allow_all"`: image("exeuntu"), // there is no more to a VM
		},
		Open: func(*testing.T, berth.Effect) sandboxtest.MappingRig {
			return sandboxtest.MappingRig{Provider: r.present, Spec: spec, Calls: func() int { return len(r.server.Commands()) }}
		},
	})
}
