//go:build linux

package sprites_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
	"github.com/berth-dev/berth/shared/spool"
)

const (
	createRoute     = "POST /v1/sprites"
	showRoute       = "GET /v1/sprites/{name}"
	labelRoute      = "PUT /v1/sprites/{name}"
	removeRoute     = "DELETE /v1/sprites/{name}"
	writeRoute      = "PUT /v1/sprites/{name}/fs/write"
	policyRoute     = "POST /v1/sprites/{name}/policy/network"
	checkpointRoute = "POST /v1/sprites/{name}/checkpoint"
	execRoute       = "GET /v1/sprites/{name}/exec"
)

// insist provisions as the runner does: again when the error passes by itself.
func insist(t *testing.T, p *sprites.Provider, spec berth.SandboxSpec) berth.SandboxRef {
	t.Helper()
	needGuest(t)
	for range 5 {
		state, err := p.Provision(t.Context(), spec)
		switch berth.CodeOf(err) {
		case berth.CodeUnavailable, berth.CodeRateLimited, berth.CodeTimedOut:
			continue
		}
		if err != nil || state.Status != berth.SandboxReady {
			t.Fatalf("Provision = %+v, %v", state, err)
		}
		return berth.SandboxRef{ID: spec.ID, Ref: state.Ref}
	}
	t.Fatal("the sandbox did not become ready in five calls")
	return berth.SandboxRef{}
}

func TestWhatPassesByItselfIsOutlasted(t *testing.T) {
	t.Parallel()
	faults := map[string]spritestest.Fault{
		"an empty 502":              {Status: 502},
		"a 503 behind the effect":   {Status: 503, Body: "<html>", After: true},
		"a cut":                     {Cut: true},
		"a cut behind the effect":   {Cut: true, After: true},
		"a rate limit by header":    {Status: 429, Header: map[string]string{"Retry-After": "1"}},
		"a rate limit by its words": {Status: 429, Body: `{"error":"sprite_creation_rate_limited","retry_after_seconds":2}`},
	}
	for what, fault := range faults {
		for _, name := range []string{"", "mine"} {
			t.Run(fmt.Sprintf("%s, sprite %q", what, name), func(t *testing.T) {
				t.Parallel()
				for _, route := range []string{createRoute, showRoute, labelRoute, policyRoute, writeRoute, execRoute, removeRoute} {
					if route == execRoute && fault.After {
						continue // a session has no effect without its answer
					}
					w := newWard(t)
					e := berth.Environment{Sprites: &berth.SpritesOptions{Name: name}}
					if name == "" {
						e.Network.Mode = berth.NetworkBlock
					}
					w.Fail(route, fault, fault)
					p, spec := open(t, w.config), specOf(e)
					ref := insist(t, p, spec)
					if n := len(w.Sprites()) - len(w.before); name == "" && n != 1 || name != "" && n != 0 {
						t.Errorf("%s: %d sprites were made", route, n)
					}
					if err := p.Destroy(t.Context(), ref); err != nil {
						t.Errorf("%s: Destroy: %v", route, err)
					}
					w.check(t, spec.ID)
				}
			})
		}
	}
}

func TestSessionsThatGoWrongAreOutlasted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults []spritestest.ExecFault
		call   time.Duration
	}{
		"no frame at all, twice":         {[]spritestest.ExecFault{spritestest.ExecSilent, spritestest.ExecSilent}, 0},
		"no exit":                        {[]spritestest.ExecFault{spritestest.ExecLosesExit, spritestest.ExecWorks, spritestest.ExecLosesExit}, 0},
		"an exit frame that never comes": {[]spritestest.ExecFault{spritestest.ExecNeverExits, spritestest.ExecWorks, spritestest.ExecNeverExits}, 2 * time.Second},
		"a connection that is held":      {[]spritestest.ExecFault{spritestest.ExecHolds, spritestest.ExecHolds}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			w.config.Pace.Call = c.call
			w.FailExec(c.faults...)
			p, spec := open(t, w.config), specOf(berth.Environment{})
			ref := insist(t, p, spec)
			if got := output(t, p, ref, "c", `printf whole; exit 3`); got.text != "whole" || got.exit != (berth.Exit{Code: 3, Reason: berth.ExitExited}) {
				t.Errorf("a command: %+v", got)
			}
			if err := p.Destroy(t.Context(), ref); err != nil {
				t.Error(err)
			}
			w.check(t, spec.ID)
		})
	}
}

// told is what became of a command.
type told struct {
	text string
	exit berth.Exit
}

func output(t *testing.T, p *sprites.Provider, ref berth.SandboxRef, id berth.CommandID, script string) told {
	t.Helper()
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: id, Script: script}); err != nil {
		t.Fatalf("StartCommand: %v", err)
	}
	return follow(t, p, ref, id, func() {})
}

// follow reads a command to its end, and calls between each two reads.
func follow(t *testing.T, p *sprites.Provider, ref berth.SandboxRef, id berth.CommandID, between func()) (got told) {
	t.Helper()
	for offset, deadline := int64(0), time.Now().Add(time.Minute); ; {
		out, err := p.ReadOutput(t.Context(), ref, id, offset, 64, 5*time.Second)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("ReadOutput after %q: %v", got.text, err)
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			got.text += string(f.Data)
		}
		if offset = out.Next; out.Ended {
			got.exit = *out.Exit
			return got
		}
		between()
	}
}

func TestConnectionsThatAreCutLoseNothing(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	ref := ready(t, p, specOf(berth.Environment{}))
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: "for i in {1..200}; do echo $i; sleep 0.01; done; exit 9"}); err != nil {
		t.Fatal(err)
	}
	cuts := 0
	got := follow(t, p, ref, "c", func() {
		if cuts < 10 {
			cuts++
			w.CutSessions()
		}
	})
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintln(&want, i+1)
	}
	if got.text != want.String() || got.exit.Code != 9 || cuts < 5 {
		t.Errorf("after %d cuts: %+v", cuts, got)
	}
}

func TestASpriteThatSleepsLightlyGoesOn(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	ref := ready(t, p, specOf(berth.Environment{}))
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: "for i in {1..20}; do echo $i; sleep 0.05; done"}); err != nil {
		t.Fatal(err)
	}
	w.Find(ref.Ref).Sleep("warm")
	w.CutSessions()
	if got := follow(t, p, ref, "c", func() {}); !strings.HasSuffix(got.text, "\n20\n") || !got.exit.Succeeded() {
		t.Errorf("the command: %+v", got)
	}
}

func TestASpriteThatSleptDeeplyHasLostItsCommandsAndKeepsItsFiles(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.HangCold()
	p := open(t, w.config)
	ref := ready(t, p, specOf(berth.Environment{}))
	output(t, p, ref, "done", "echo kept >file")
	if err := p.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: "sleep 600"}); err != nil {
		t.Fatal(err)
	}
	w.Find(ref.Ref).Sleep("cold")
	w.CutSessions()
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != ref.ID || w.Find(ref.Ref).Status() != "cold" {
		t.Errorf("List = %+v, %v, and the sprite is %s", list, err, w.Find(ref.Ref).Status())
	}
	if got := follow(t, p, ref, "c", func() {}); got.exit.Reason != berth.ExitLost {
		t.Errorf("the command: %+v", got)
	}
	if got := follow(t, p, ref, "done", func() {}); !got.exit.Succeeded() {
		t.Errorf("an earlier command: %+v", got)
	}
	if state, err := p.Start(t.Context(), ref); err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Start = %+v, %v", state, err)
	}
	if got := output(t, p, ref, "again", "cat file"); got.text != "kept\n" {
		t.Errorf("the file: %+v", got)
	}
}

func TestARelayThatNobodyTalksToEndsByItself(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	ref := ready(t, p, specOf(berth.Environment{}))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	relays := func() int { return len(sandboxtest.Processes("relay\x00-root\x00" + w.Find(ref.Ref).Home())) }
	if relays() == 0 {
		t.Error("nothing holds the sprite awake")
	}
	for deadline := time.Now().Add(20 * time.Second); relays() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the relay stays")
		}
	}
	if state, err := open(t, w.config).Describe(t.Context(), ref); err != nil || state.Status != berth.SandboxReady {
		t.Errorf("Describe = %+v, %v", state, err)
	}
}

func TestTheTokenNeverReachesTheSprite(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	p := open(t, w.config)
	ref := ready(t, p, specOf(berth.Environment{}))
	const secret = "canary-2f7d0b"
	got := output(t, p, ref, "c", `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -c canary-2f7d[0]b; grep -rl canary-2f7d[0]b ~; echo end`)
	if !strings.HasSuffix(got.text, "end\n") || strings.Contains(got.text, w.Find(ref.Ref).Root) || !strings.HasPrefix(got.text, "0\n") {
		t.Errorf("%s is found: %q", secret, got.text)
	}
}
