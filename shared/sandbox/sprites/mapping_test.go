//go:build linux

package sprites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
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
	"ssh":                 func(e *berth.Environment) { e.SSH = &berth.SSHOptions{Destination: "host"} },
	"exe":                 func(e *berth.Environment) { e.Exe = &berth.ExeOptions{Image: "i"} },
	"sprites":             func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Org: spritestest.Org} },
	"sprites.org":         func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Org: spritestest.Org} },
	"sprites.name":        func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Name: "mine"} },
	"sprites.url_auth":    func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{URLAuth: "public"} },
}

// seen says of each mapped field what it did at the service, where anything can be
// seen of it there.
var seen = map[string]func(*spritestest.Sprite) (got, want []string){
	`network.mode = "allow_all"`: func(s *spritestest.Sprite) (got, want []string) { return s.Rules(), nil },
	`network.mode = "block"`:     func(s *spritestest.Sprite) (got, want []string) { return s.Rules(), []string{"*=deny"} },
	"sprites.name":               func(s *spritestest.Sprite) (got, want []string) { return []string{s.Name}, []string{"mine"} },
	"sprites.url_auth":           func(s *spritestest.Sprite) (got, want []string) { return []string{s.Auth()}, []string{"public"} },
}

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	titles := map[string]bool{}
	for _, row := range berth.Mapping() {
		cell, title := row.Cells[berth.ProviderSprites], strings.Trim(row.Title(), "`")
		if cell.Effect == "" || titles[title] {
			continue
		}
		titles[title] = true
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			change := set[title]
			if change == nil {
				t.Fatalf("the row %s has no test", title)
			}
			w := newWard(t)
			spec := specOf(berth.Environment{})
			change(&spec.Environment)
			warnings, _ := berth.CheckMapping(spec.Environment)
			if cell.Effect != berth.EffectError {
				needGuest(t)
			}
			p := open(t, w.config)
			state, err := p.Provision(t.Context(), spec)
			if cell.Effect == berth.EffectError {
				if berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), cell.Text) || len(w.Requests()) > 0 {
					t.Fatalf("Provision = %+v, %v after %q; want unsupported before anything", state, err, w.Requests())
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
				if got, want := look(w.Find(state.Ref)); !slices.Equal(got, want) {
					t.Errorf("the sprite has %q, want %q", got, want)
				}
			}
			if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID, Ref: state.Ref}); err != nil {
				t.Error(err)
			}
			w.check(t, spec.ID)
		})
	}
	if len(titles) < 15 {
		t.Errorf("the mapping has %d rows about sprites", len(titles))
	}
}

func TestANetworkIsBlockedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	ready(t, open(t, w.config), specOf(berth.Environment{Network: berth.Network{Mode: berth.NetworkBlock}}))
	want := []string{showRoute, createRoute, policyRoute, "GET /v1/sprites/{name}/policy/network", execRoute, writeRoute, execRoute, execRoute}
	if diff := cmp.Diff(want, w.Requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestVariablesReachCommands(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	ref := ready(t, p, specOf(berth.Environment{}))
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: `printf '%s' "$A"; pwd >&2`, Env: map[string]string{"A": "b c"}}); err != nil {
		t.Fatal(err)
	}
	if got := follow(t, p, ref, "c", func() {}); !strings.Contains(got.text, "b c") || !strings.Contains(got.text, w.Find(ref.Ref).Home()+"/workspace\n") {
		t.Errorf("the command: %+v", got)
	}
}
