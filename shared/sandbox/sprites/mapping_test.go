//go:build linux

package sprites_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
)

func TestEachCellOfTheMappingIsKept(t *testing.T) {
	t.Parallel()
	wards := map[berth.Provider]*ward{}
	sprite := func(look func(*spritestest.Sprite) any, want any) sandboxtest.Look {
		return func(_ *testing.T, m sandboxtest.Mapped) (got, _ any) {
			return look(wards[m.Provider].Find(m.State.Ref)), want
		}
	}
	rules := func(s *spritestest.Sprite) any { return s.Rules() }
	sandboxtest.RunMapping(t, sandboxtest.Mapping{
		Kind: berth.ProviderSprites,
		Fields: map[string]func(*berth.Environment){
			"sprites":          func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Org: spritestest.Org} },
			"sprites.org":      func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Org: spritestest.Org} },
			"sprites.name":     func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{Name: "mine"} },
			"sprites.url_auth": func(e *berth.Environment) { e.Sprites = &berth.SpritesOptions{URLAuth: "public"} },
		},
		Seen: map[string]sandboxtest.Look{
			"sprites": nil, "sprites.org": nil, // the token's own, which the service checks
			`network.mode = "allow_all"`: sprite(rules, []string(nil)),
			`network.mode = "block"`:     sprite(rules, []string{"*=deny"}),
			"sprites.name":               sprite(func(s *spritestest.Sprite) any { return s.Name }, "mine"),
			"sprites.url_auth":           sprite(func(s *spritestest.Sprite) any { return s.Auth() }, "public"),
		},
		Open: func(t *testing.T, effect berth.Effect) sandboxtest.MappingRig {
			if effect != berth.EffectError {
				needGuest(t)
			}
			w := newWard(t)
			p := open(t, w.config)
			wards[p] = w
			return sandboxtest.MappingRig{
				Provider: p, Spec: func(testing.TB) berth.SandboxSpec { return specOf(berth.Environment{}) },
				Calls: func() int { return len(w.Requests()) }, Gone: w.check,
			}
		},
	})
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
