//go:build linux

package sprites_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
)

func TestWhatIsWrongIsToldAndLeavesNothing(t *testing.T) {
	t.Parallel()
	full := spritestest.Fault{Status: 429, Body: `{"error":"concurrent_sprite_limit_exceeded","message":"limit of 3 reached"}`}
	for name, c := range map[string]struct {
		options berth.SpritesOptions
		mode    berth.NetworkMode
		change  func(*testing.T, *ward)
		code    berth.Code
		says    []string
	}{
		"a URL that is a page": {
			change: func(_ *testing.T, w *ward) { w.config.URL += "/web" },
			code:   berth.CodeInvalid, says: []string{"answers with a page", "URL of the Sprites API"},
		},
		"a token that was revoked": {
			change: func(_ *testing.T, w *ward) { w.Revoke() }, code: berth.CodeForbidden, says: []string{"valid Sprites token"},
		},
		"a token with a line end": {
			change: func(_ *testing.T, w *ward) {
				w.config.Token = func(context.Context) (berth.SecretValue, error) {
					return berth.NewSecretValue([]byte("canary-2f7d0b\n")), nil
				}
			},
			code: berth.CodeInvalid, says: []string{"white space"},
		},
		"a plan that is full": {
			change: func(_ *testing.T, w *ward) { w.Fail(createRoute, full) }, code: berth.CodeRateLimited, says: []string{"limit of 3 reached", "Destroy sandboxes"},
		},
		"a rate limit that lasts": {
			change: func(_ *testing.T, w *ward) {
				w.Fail(createRoute, spritestest.Fault{Status: 429, Header: map[string]string{"Retry-After": "600"}})
			},
			code: berth.CodeRateLimited, says: []string{"10m0s"},
		},
		"a creation that is refused": {
			change: func(_ *testing.T, w *ward) {
				w.Fail(createRoute, spritestest.Fault{Status: 400, Body: `{"error":"bad_request","message":"no more of this"}`})
			},
			code: berth.CodeInvalid, says: []string{"no more of this"},
		},
		"another organisation": {
			options: berth.SpritesOptions{Org: "globex"}, code: berth.CodeInvalid, says: []string{"sprites.org", "globex", "acme"},
		},
		"another organisation, of a token that does not say it": {
			options: berth.SpritesOptions{Org: "globex"},
			change: func(_ *testing.T, w *ward) {
				w.config.Token = func(context.Context) (berth.SecretValue, error) {
					return berth.NewSecretValue([]byte("opaque-token")), nil
				}
				w.SetToken("opaque-token")
			},
			code: berth.CodeInvalid, says: []string{"sprites.org", "globex", "acme"},
		},
		"a sprite that does not exist": {
			options: berth.SpritesOptions{Name: "nobody"}, code: berth.CodeInvalid, says: []string{"sprites.name", "sprite create nobody"},
		},
		"a sprite whose network is open": {
			options: berth.SpritesOptions{Name: "mine"}, mode: berth.NetworkBlock,
			code: berth.CodeUnsupported, says: []string{"network.mode", "not blocked"},
		},
		"a sprite whose URL is for others": {
			options: berth.SpritesOptions{Name: "mine", URLAuth: "public"}, code: berth.CodeUnsupported, says: []string{"sprites.url_auth", "has sprite"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			if c.change != nil {
				c.change(t, w)
			}
			spec := specOf(berth.Environment{Sprites: &c.options, Network: berth.Network{Mode: c.mode}})
			state, err := open(t, w.config).Provision(t.Context(), spec)
			if berth.CodeOf(err) != c.code {
				t.Fatalf("Provision = %+v, %v; want code %s", state, err, c.code)
			}
			var e *berth.Error
			text := err.Error()
			if errors.As(err, &e) {
				text += " " + e.Remediation
			}
			for _, words := range c.says {
				if !strings.Contains(text, words) {
					t.Errorf("%q does not say %q", text, words)
				}
			}
			if strings.Contains(text, "canary") {
				t.Errorf("%q shows the token", text)
			}
			w.check(t, spec.ID)
		})
	}
}

// A preflight asks about a sandbox that cannot exist.
func TestAPreflightTellsWhatIsWrongWithTheAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ward)
		code   berth.Code
	}{
		"nothing":                 {func(*ward) {}, ""},
		"a URL that is a page":    {func(w *ward) { w.config.URL += "/web" }, berth.CodeInvalid},
		"a token that is revoked": {func(w *ward) { w.Revoke() }, berth.CodeForbidden},
		"an address of nobody":    {func(w *ward) { w.config.URL = "http://127.0.0.1:1" }, berth.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			c.change(w)
			state, err := open(t, w.config).Describe(t.Context(), berth.SandboxRef{ID: sandboxtest.NewID()})
			if berth.CodeOf(err) != c.code || c.code == "" && state.Status != berth.SandboxGone {
				t.Errorf("Describe = %+v, %v; want code %q", state, err, c.code)
			}
		})
	}
}

func TestASpriteThatIsBlockedAlreadyIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.Find("mine").Block()
	p := open(t, w.config)
	spec := specOf(berth.Environment{Sprites: &berth.SpritesOptions{Name: "mine"}, Network: berth.Network{Mode: berth.NetworkBlock}})
	if err := p.Destroy(t.Context(), ready(t, p, spec)); err != nil {
		t.Error(err)
	}
	w.check(t, spec.ID)
}

// A sprite may have the name that berth would give, and be somebody else's.
func TestASpriteWithoutTheMarkIsNeverTouched(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	spec := specOf(berth.Environment{})
	ref := ready(t, p, spec)
	if err := p.Destroy(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	w.Add(t, ref.Ref, "theirs")
	w.before = w.labels()
	if state, err := p.Provision(t.Context(), spec); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Provision = %+v, %v, want conflict", state, err)
	}
	if err := p.Destroy(t.Context(), ref); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Destroy = %v, want conflict", err)
	}
	if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
		t.Errorf("Destroy by the id: %v", err)
	}
	if state, err := p.Describe(t.Context(), ref); err != nil || state.Status != berth.SandboxGone {
		t.Errorf("Describe = %+v, %v", state, err)
	}
	w.check(t, sandboxtest.NewID())
}

func TestAWorkspaceThatCannotBeUsedIsToldAndLeavesNothing(t *testing.T) {
	t.Parallel()
	needGuest(t)
	w := newWard(t)
	if err := os.WriteFile(filepath.Join(w.Find("mine").Home(), "workspace"), []byte("a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := specOf(berth.Environment{Sprites: &berth.SpritesOptions{Name: "mine"}})
	state, err := open(t, w.config).Provision(t.Context(), spec)
	if err != nil || state.Status != berth.SandboxFailed || state.Reason == nil || !strings.Contains(state.Reason.Message, "workspace") {
		t.Errorf("Provision = %+v, %v", state, err)
	}
	w.check(t, spec.ID)
}

func TestTwoSandboxesDoNotShareASpriteByAccident(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	mine := berth.Environment{Sprites: &berth.SpritesOptions{Name: "mine"}}
	first, second := specOf(mine), specOf(mine)
	ref := ready(t, p, first)
	state, err := p.Provision(t.Context(), second)
	if err != nil || state.Status != berth.SandboxFailed || !strings.Contains(state.Reason.Message, "another sandbox uses") {
		t.Errorf("Provision of a second one = %+v, %v", state, err)
	}
	if got := output(t, p, ref, "c", "echo fine"); got.text != "fine\n" {
		t.Errorf("the first one: %+v", got)
	}
	if err := p.Destroy(t.Context(), ref); err != nil {
		t.Error(err)
	}
	w.check(t, first.ID)
	w.check(t, second.ID)
}

func TestTheListHasOursAlone(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.PageSize(2)
	w.Add(t, "odd", "berth-sandbox=", "berth-sandbox=test", "berth-sandbox=test.x.y", "berth-sandbox=test.01arz3ndektsv4rrffq69g5fa3", "berth-sandbox=tes.01arz3ndektsv4rrffq69g5fa3."+runID)
	p := open(t, w.config)
	want := []string{}
	for _, name := range []string{"", "mine", "", ""} {
		spec := specOf(berth.Environment{Sprites: &berth.SpritesOptions{Name: name}})
		ready(t, p, spec)
		want = append(want, string(spec.ID))
	}
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, state := range list {
		got = append(got, string(state.ID))
		if state.Run != runID || state.Ref == "" || state.Status != berth.SandboxReady {
			t.Errorf("listed is %+v", state)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
	config := w.config
	config.Installation = "third"
	if list, err := open(t, config).List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("another installation's list = %+v, %v", list, err)
	}
}

func TestASnapshotIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	ref := ready(t, p, specOf(berth.Environment{}))
	w.Fail(checkpointRoute, spritestest.Fault{Cut: true, After: true})
	for range 2 {
		if err := p.Snapshot(t.Context(), ref, "before-upgrade"); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Find(ref.Ref).Comments(); !slices.Equal(got, []string{"before-upgrade"}) {
		t.Errorf("checkpoints: %q", got)
	}
	for body, says := range map[string]string{
		"{\"type\":\"info\",\"data\":\"x\"}\n{\"type\":\"error\",\"error\":\"storage is wedged\"}\n": "storage is wedged",
		"": "does not say", "<html>": "something else", "{\"type\":\"info\",\"data\":\"x\"}\n": "does not say",
	} {
		w.Fail(checkpointRoute, spritestest.Fault{Status: 200, Body: body})
		if err := p.Snapshot(t.Context(), ref, "second"); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), says) {
			t.Errorf("Snapshot answered by %q: %v", body, err)
		}
	}
	if err := p.Snapshot(t.Context(), berth.SandboxRef{ID: sandboxtest.NewID(), Ref: "mine"}, "x"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("Snapshot of a sprite that is not ours: %v", err)
	}
}

func TestAStopKeepsTheDiskAsACheckpointOnceAndFailsWithoutOneNever(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	own := ready(t, p, specOf(berth.Environment{}))
	mine := ready(t, p, specOf(berth.Environment{Sprites: &berth.SpritesOptions{Name: "mine"}}))
	for range 2 {
		for _, ref := range []berth.SandboxRef{own, mine} {
			if err := p.Stop(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := w.Find(own.Ref).Comments(); len(got) != 1 || !strings.HasPrefix(got[0], "berth: stopped 20") {
		t.Errorf("checkpoints of berth's own sprite: %q", got)
	}
	if got := w.Find("mine").Comments(); len(got) != 0 {
		t.Errorf("checkpoints of a sprite that is not berth's: %q", got)
	}
	if state, err := p.Start(t.Context(), own); err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Start = %+v, %v", state, err)
	}
	w.Fail(checkpointRoute, spritestest.Fault{Status: 500})
	if err := p.Stop(t.Context(), own); err != nil {
		t.Errorf("Stop without a checkpoint: %v", err)
	}
}

func TestThePreviewIsTheSpritesURLForItsOnePort(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	ref := ready(t, p, specOf(berth.Environment{}))
	if url, err := p.Preview(t.Context(), ref, 8080, 0); err != nil || url != "https://"+ref.Ref+"-acme.sprites.app" {
		t.Errorf("Preview = %q, %v", url, err)
	}
	if _, err := p.Preview(t.Context(), ref, 3000, 0); berth.CodeOf(err) != berth.CodeUnsupported {
		t.Errorf("Preview of another port: %v", err)
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	guest := func(string) ([]byte, error) { return nil, nil }
	for name, config := range map[string]sprites.Config{
		"no installation":            {Token: token, Guest: guest},
		"no guest":                   {Token: token, Installation: "i"},
		"no token":                   {Guest: guest, Installation: "i"},
		"a URL without a host":       {Token: token, Guest: guest, Installation: "i", URL: "api.sprites.dev"},
		"a URL with a password":      {Token: token, Guest: guest, Installation: "i", URL: "https://u:p@api.sprites.dev"},
		"an installation with a dot": {Token: token, Guest: guest, Installation: "a.b"},
	} {
		if _, err := sprites.New(config); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
