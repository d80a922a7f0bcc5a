//go:build linux

package sprites_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
)

const (
	installation = "test"
	runID        = "01arz3ndektsv4rrffq69g5fav"
)

func specOf(e berth.Environment) berth.SandboxSpec {
	e.Provider = berth.ProviderSprites
	if e.Network.Mode == "" {
		e.Network.Mode = berth.NetworkAllowAll
	}
	return berth.SandboxSpec{ID: sandboxtest.NewID(), Installation: installation, Run: runID, Environment: e}
}

func token(context.Context) (berth.SecretValue, error) {
	return berth.NewSecretValue([]byte(spritestest.Token)), nil
}

// configOf is a provider on a server, with pauses for tests.
func configOf(t testing.TB, s *spritestest.Server) sprites.Config {
	t.Helper()
	return sprites.Config{
		URL: s.URL, Token: token, Installation: installation, Hold: 2 * time.Second, Moment: time.Minute, Guest: guestFor(t),
		Pace: spritesapi.Pace{FirstPause: 5 * time.Millisecond, Call: 20 * time.Second},
	}
}

// guestFor builds the guest. With -short there is none: see needGuest.
func guestFor(t testing.TB) func(string) ([]byte, error) {
	t.Helper()
	if testing.Short() {
		return func(string) ([]byte, error) { return nil, errors.New("there is no guest with -short") }
	}
	guest := sandboxtest.GuestBytes(t)
	return func(string) ([]byte, error) { return guest, nil }
}

// needGuest leaves tests to the long run that start the guest and its daemon.
func needGuest(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a guest and its processes are started: run without -short")
	}
}

func open(t testing.TB, config sprites.Config) *sprites.Provider {
	t.Helper()
	p, err := sprites.New(config)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// Memory is counted: nothing else of this package runs meanwhile.
func TestSpritesKeepTheContractOfProviders(t *testing.T) {
	if testing.Short() {
		t.Skip("the contract of providers starts hundreds of processes: run without -short")
	}
	for _, c := range []struct {
		name    string
		options *berth.SpritesOptions
	}{
		{"of its own", nil},
		{"that exists", &berth.SpritesOptions{Name: "mine"}},
	} {
		t.Run("a sprite "+c.name, func(t *testing.T) { // one after the other: memory is counted
			sandboxtest.Run(t, func(t *testing.T) sandboxtest.Fixture { return fixture(t, c.options) })
		})
	}
}

func fixture(t *testing.T, options *berth.SpritesOptions) sandboxtest.Fixture {
	s := spritestest.Start(t)
	s.Add(t, "mine", "theirs")
	config := configOf(t, s)
	present := open(t, config)
	t.Cleanup(func() { present.Close() })
	n := 0
	return sandboxtest.Fixture{
		Provider: present,
		Spec: func(t testing.TB) berth.SandboxSpec {
			spec := specOf(berth.Environment{})
			if options != nil {
				mine := *options
				if n++; n > 1 { // one sandbox at a time has a sprite's workspace
					mine.Name = fmt.Sprint(options.Name, n)
					s.Add(t, mine.Name, "theirs")
				}
				spec.Environment.Sprites = &mine
			}
			return spec
		},
		Reopen: func(sub testing.TB) berth.Provider {
			if err := present.Close(); err != nil {
				sub.Fatal(err)
			}
			var err error
			if present, err = sprites.New(config); err != nil {
				sub.Fatal(err)
			}
			return present
		},
		KillGuest: func(t testing.TB, ref berth.SandboxRef) {
			if err := syscall.Kill(guestPID(t, ref.ID), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		Processes:   func(_ testing.TB, _ berth.SandboxRef, marker string) int { return len(sandboxtest.Processes(marker)) },
		Leftovers:   func(_ testing.TB, id berth.SandboxID) []string { return leftovers(s, id) },
		FarEndBytes: 32 << 20,
		GuestPeakBytes: func(t testing.TB, ref berth.SandboxRef) int64 {
			return sandboxtest.PeakBytes(t, guestPID(t, ref.ID))
		},
	}
}

// leftovers are sprites, labels, files and processes of a sandbox.
func leftovers(s *spritestest.Server, id berth.SandboxID) (left []string) {
	for _, sprite := range s.Sprites() {
		for _, text := range append(sprite.Labels(), sprite.Name) {
			if strings.Contains(text, string(id)) {
				left = append(left, "sprite "+sprite.Name+" with "+text)
			}
		}
		found, _ := filepath.Glob(sprite.Home() + "/.berth/" + string(id))
		left = append(left, found...)
	}
	left = append(left, sandboxtest.Left(string(id))...)
	return left
}

// guestPID finds the guest by its command line, which names the folder.
func guestPID(t testing.TB, id berth.SandboxID) int {
	t.Helper()
	var found []int
	for _, pid := range sandboxtest.Processes("berth-guest\x00-dir\x00") {
		if args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && bytes.Contains(args, []byte("/"+string(id)+"/")) {
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d guests", len(found))
	}
	return found[0]
}
