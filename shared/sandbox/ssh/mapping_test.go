//go:build linux

package ssh_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
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
	"exe":                 func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "i"} },
	// What a host cannot do without is in every environment of this test.
	"ssh":                   func(*berth.Environment) {},
	"ssh.destination":       func(*berth.Environment) {},
	"ssh.working_directory": func(*berth.Environment) {},
	"ssh.config_file":       func(*berth.Environment) {},
	"ssh.preview_url_base":  func(e *berth.Environment) { e.SSH.PreviewURLBase = "http://devbox" },
}

// seen says of each mapped field what came of it, where anything can be seen.
var seen = map[string]func(t *testing.T, r *rig, s berth.SandboxSpec, state berth.SandboxState) (got, want string){
	"ssh.destination": func(_ *testing.T, r *rig, s berth.SandboxSpec, _ berth.SandboxState) (got, want string) {
		_, err := os.Stat(r.folder(s.ID))
		return errText(err), ""
	},
	"ssh.working_directory": func(t *testing.T, r *rig, s berth.SandboxSpec, state berth.SandboxState) (got, want string) {
		return printed(t, r, state, "pwd", nil), s.Environment.SSH.WorkingDirectory + "\n"
	},
	"ssh.config_file": func(_ *testing.T, _ *rig, s berth.SandboxSpec, state berth.SandboxState) (got, want string) {
		// Its alias is what was reached, and a person is told to use it too.
		return state.Hint[:len("ssh -t -F "+s.Environment.SSH.ConfigFile+" box")], "ssh -t -F " + s.Environment.SSH.ConfigFile + " box"
	},
	"ssh.preview_url_base": func(t *testing.T, r *rig, _ berth.SandboxSpec, state berth.SandboxState) (got, want string) {
		url, err := r.present.Preview(t.Context(), refOf(state), 3000, 0)
		return url + errText(err), "http://devbox:3000"
	},
	"env": func(t *testing.T, r *rig, s berth.SandboxSpec, state berth.SandboxState) (got, want string) {
		return printed(t, r, state, `echo "$A"`, s.Environment.Env), "b\n"
	},
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func printed(t *testing.T, r *rig, state berth.SandboxState, script string, env map[string]string) string {
	t.Helper()
	if err := r.present.StartCommand(t.Context(), refOf(state), berth.CommandSpec{ID: "look", Script: script, Env: env}); err != nil {
		t.Fatal(err)
	}
	text, _ := output(t, r.present, refOf(state), "look")
	return text
}

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, "program")
	titles := map[string]bool{}
	for _, row := range berth.Mapping() {
		cell, title := row.Cells[berth.ProviderSSH], strings.Trim(row.Title(), "`")
		if cell.Effect == "" || titles[title] {
			continue
		}
		titles[title] = true
		t.Run(title, func(t *testing.T) {
			change := set[title]
			if change == nil {
				t.Fatalf("the row %s has no test", title)
			}
			s := r.spec(t)
			change(&s.Environment)
			warnings, _ := berth.CheckMapping(s.Environment)
			before := r.server.Connections()
			state, err := r.present.Provision(t.Context(), s)
			if cell.Effect == berth.EffectError {
				if berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), cell.Text) || r.server.Connections() > before {
					t.Fatalf("Provision = %+v, %v; want unsupported before anything", state, err)
				}
				return
			}
			if err != nil || state.Status != berth.SandboxReady {
				t.Fatalf("Provision = %+v, %v", state, err)
			}
			warned := slices.ContainsFunc(warnings, func(problem berth.Problem) bool { return problem.Message == cell.Text })
			if warned != (cell.Effect == berth.EffectWarning) {
				t.Errorf("the effect is %s, and the warnings are %+v", cell.Effect, warnings)
			}
			if look := seen[title]; look != nil {
				if got, want := look(t, r, s, state); got != want {
					t.Errorf("there is %q, want %q", got, want)
				}
			}
			if err := r.present.Destroy(t.Context(), refOf(state)); err != nil {
				t.Error(err)
			}
		})
	}
	if len(titles) < 18 {
		t.Errorf("the mapping has %d rows about ssh", len(titles))
	}
}
