//go:build linux

package sprites_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
)

// dying carries n requests. The next one has its effect or not, and no answer; then
// nothing comes through any more, as when the process has been killed.
type dying struct {
	mu     sync.Mutex
	left   int
	effect bool
}

var errDead = errors.New("this process is dead")

func (d *dying) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	d.left--
	left := d.left
	d.mu.Unlock()
	if left >= 0 {
		return http.DefaultTransport.RoundTrip(r)
	}
	if left == -1 && d.effect && r.Header.Get("Upgrade") == "" {
		if res, err := http.DefaultTransport.RoundTrip(r); err == nil {
			res.Body.Close()
		}
	}
	return nil, errDead
}

func (d *dying) died() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left < 0
}

// ward is a server with sprites that are not to be touched.
type ward struct {
	*spritestest.Server
	config sprites.Config
	before map[string][]string // labels by name
}

func newWard(t *testing.T) *ward {
	w := &ward{Server: spritestest.Start(t)}
	w.config = configOf(t, w.Server)
	w.config.Clock = &sandboxtest.HastyClock{}
	w.Add(t, "mine", "theirs", "berth-sandbox=other.01arz3ndektsv4rrffq69g5fa1."+runID)
	w.Add(t, "berth-00000000-01arz3ndektsv4rrffq69g5fa2", "berth-sandbox=other.01arz3ndektsv4rrffq69g5fa2."+runID)
	w.Add(t, "unlabelled")
	w.before = w.labels()
	return w
}

func (w *ward) labels() map[string][]string {
	labels := map[string][]string{}
	for _, s := range w.Sprites() {
		labels[s.Name] = append([]string{}, s.Labels()...)
	}
	return labels
}

// check fails unless the sandbox is gone and all else is as before.
func (w *ward) check(t *testing.T, id berth.SandboxID) {
	t.Helper()
	if diff := cmp.Diff(w.before, w.labels()); diff != "" {
		t.Fatalf("sprites and their labels (-before +now):\n%s", diff)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := leftovers(w.Server, id)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %q", left)
		}
	}
}

func TestADeathAtAnyStepLeavesNothingThatTheSweeperDoesNotFind(t *testing.T) {
	t.Parallel()
	needGuest(t)
	for name, e := range map[string]berth.Environment{
		"of its own":  {Network: berth.Network{Mode: berth.NetworkBlock}, Sprites: &berth.SpritesOptions{URLAuth: "public"}},
		"that exists": {Sprites: &berth.SpritesOptions{Name: "mine"}},
	} {
		for _, effect := range []bool{false, true} {
			t.Run(fmt.Sprintf("a sprite %s, effect %t", name, effect), func(t *testing.T) {
				t.Parallel()
				w := newWard(t)
				for n := 0; ; n++ {
					if n > 40 {
						t.Fatal("it dies for ever")
					}
					spec := specOf(e)
					if w.provisionDying(t, spec, n, effect) {
						if n < 5 {
							t.Errorf("making it took %d requests", n)
						}
						break
					}
					w.sweep(t, spec.ID, n%2 == 0)
					w.check(t, spec.ID)
				}
				for n := 0; ; n++ {
					if n > 40 {
						t.Fatal("it dies for ever")
					}
					spec := specOf(e)
					ref := ready(t, open(t, w.config), spec)
					died := w.destroyDying(t, ref, n, effect)
					w.sweep(t, spec.ID, n%2 == 0)
					w.check(t, spec.ID)
					if !died {
						if n < 2 {
							t.Errorf("destroying it took %d requests", n)
						}
						return
					}
				}
			})
		}
	}
}

func (w *ward) mortal(t *testing.T, n int, effect bool) (*sprites.Provider, *dying) {
	t.Helper()
	d := &dying{left: n, effect: effect}
	config := w.config
	config.HTTP = &http.Client{Transport: d}
	p, err := sprites.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return p, d
}

// provisionDying reports whether the sandbox became ready before the death.
func (w *ward) provisionDying(t *testing.T, spec berth.SandboxSpec, n int, effect bool) bool {
	t.Helper()
	p, d := w.mortal(t, n, effect)
	defer p.Close()
	state, err := p.Provision(t.Context(), spec)
	if !d.died() && (err != nil || state.Status != berth.SandboxReady) {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	if d.died() && err == nil {
		t.Fatalf("a dead process made %+v", state)
	}
	if err == nil {
		if err := open(t, w.config).Destroy(t.Context(), berth.SandboxRef{ID: spec.ID, Ref: state.Ref}); err != nil {
			t.Fatal(err)
		}
	}
	return err == nil
}

func (w *ward) destroyDying(t *testing.T, ref berth.SandboxRef, n int, effect bool) (died bool) {
	t.Helper()
	p, d := w.mortal(t, n, effect)
	defer p.Close()
	if err := p.Destroy(t.Context(), ref); d.died() != (err != nil) {
		t.Fatalf("Destroy = %v, and it is dead: %t", err, d.died())
	}
	return d.died()
}

// sweep destroys by what the next server knows: by its list, or by the id alone.
func (w *ward) sweep(t *testing.T, id berth.SandboxID, byList bool) {
	t.Helper()
	p := open(t, w.config)
	defer p.Close()
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(list, func(s berth.SandboxState) bool { return s.ID != id }); i >= 0 {
		t.Fatalf("the list has %+v, which is not ours", list[i])
	}
	refs := []berth.SandboxRef{{ID: id}}
	if byList {
		refs = nil
		for _, s := range list {
			refs = append(refs, berth.SandboxRef{ID: s.ID, Ref: s.Ref})
		}
	}
	for _, ref := range refs {
		if err := p.Destroy(t.Context(), ref); err != nil {
			t.Fatalf("Destroy(%+v): %v", ref, err)
		}
	}
}

func ready(t testing.TB, p *sprites.Provider, spec berth.SandboxSpec) berth.SandboxRef {
	t.Helper()
	needGuest(t)
	state, err := p.Provision(t.Context(), spec)
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	return berth.SandboxRef{ID: spec.ID, Ref: state.Ref}
}
