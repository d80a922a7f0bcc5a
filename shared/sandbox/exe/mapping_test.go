//go:build linux

package exe_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/exe/exetest"
)

func ptr[T any](v T) *T { return &v }

// set makes an environment with each field of the mapping, by the row's title.
var set = map[string]func(*berth.Environment){
	"image.docker": func(e *berth.Environment) { e.Image.Docker = ptr("debian:13") },
	"image.dockerfile": func(e *berth.Environment) {
		e.Image.Dockerfile = &berth.Dockerfile{Type: "inline", Value: "FROM debian:13\n"}
	},
	"resources.cpu":              func(e *berth.Environment) { e.Resources.CPU = ptr(4) },
	"resources.memory":           func(e *berth.Environment) { e.Resources.Memory = ptr(berth.Size("4GB")) },
	"resources.disk":             func(e *berth.Environment) { e.Resources.Disk = ptr(berth.Size("10GB")) },
	`network.mode = "allow_all"`: func(e *berth.Environment) { e.Network.Mode = berth.NetworkAllowAll },
	`network.mode = "block"`:     func(e *berth.Environment) { e.Network.Mode = berth.NetworkBlock },
	`network.mode = "cidr_allow_list"`: func(e *berth.Environment) {
		e.Network.Mode, e.Network.Allow = berth.NetworkCIDRAllowList, []string{"10.0.0.0/8"}
	},
	"labels":              func(e *berth.Environment) { e.Labels = map[string]string{"team": "x"} },
	"lifecycle.auto_stop": func(e *berth.Environment) { e.Lifecycle.AutoStop = ptr(berth.Duration("30m")) },
	"env":                 func(e *berth.Environment) { e.Env = map[string]string{"A": "b"} },
	"cwd":                 func(e *berth.Environment) { e.CWD = ptr("/srv") },
	"docker":              func(e *berth.Environment) { e.Docker = &berth.DockerOptions{PoolSize: 1} },
	"daytona":             func(e *berth.Environment) { e.Daytona = &berth.DaytonaOptions{Snapshot: "s"} },
	"sprites":             func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Org: "o"} },
	"ssh":                 func(e *berth.Environment) { e.SSH = &berth.SSHOptions{Destination: "host"} },
	"exe":                 func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "i"} },
	"exe.image":           func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "ghcr.io/o/i:1"} },
}

// seen says of each mapped field what became of the VM, where anything can be seen.
var seen = map[string]func(*exetest.VM) (got, want string){
	"exe.image":                  func(v *exetest.VM) (got, want string) { return v.Image, "ghcr.io/o/i:1" },
	`network.mode = "allow_all"`: func(v *exetest.VM) (got, want string) { return v.Image, "exeuntu" },
}

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	titles := map[string]bool{}
	for _, row := range berth.Mapping() {
		cell, title := row.Cells[berth.ProviderExe], strings.Trim(row.Title(), "`")
		if cell.Effect == "" || titles[title] {
			continue
		}
		titles[title] = true
		t.Run(title, func(t *testing.T) {
			change := set[title]
			if change == nil {
				t.Fatalf("the row %s has no test", title)
			}
			s := spec(t)
			change(&s.Environment)
			warnings, _ := berth.CheckMapping(s.Environment)
			before := len(r.server.Commands())
			// What is only warned of needs no VM: nothing of it is in a request.
			if cell.Effect == berth.EffectMapped {
				if state, err := r.provision(t, s); err != nil || state.Status != berth.SandboxReady {
					t.Fatalf("Provision = %+v, %v", state, err)
				}
				if look := seen[title]; look != nil {
					if got, want := look(r.vm(t, s.ID)); got != want {
						t.Errorf("the VM has %q, want %q", got, want)
					}
				}
				if err := r.present.Destroy(bounded(t), berth.SandboxRef{ID: s.ID}); err != nil {
					t.Error(err)
				}
			}
			if cell.Effect == berth.EffectError {
				state, err := r.present.Provision(bounded(t), s)
				if berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), cell.Text) || len(r.server.Commands()) > before {
					t.Fatalf("Provision = %+v, %v; want unsupported before anything", state, err)
				}
				return
			}
			warned := slices.ContainsFunc(warnings, func(problem berth.Problem) bool { return problem.Message == cell.Text })
			if warned != (cell.Effect == berth.EffectWarning) {
				t.Errorf("the effect is %s, and the warnings are %+v", cell.Effect, warnings)
			}
		})
	}
	if len(titles) < 15 {
		t.Errorf("the mapping has %d rows about exe", len(titles))
	}
}
