// Package sandboxtest is the contract of berth.Provider: what holds on every
// kind of sandbox. Each provider's tests call Run with a Fixture of their own.
package sandboxtest

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

// Fixture is a provider under test.
type Fixture struct {
	Provider berth.Provider
	// Spec describes a new sandbox, with an id of its own.
	Spec func(t testing.TB) berth.SandboxSpec
	// Reopen lets go of the provider as a server does that dies, and returns the
	// one that the next server makes.
	Reopen func(t testing.TB) berth.Provider
	// KillGuest ends the guest with KILL; nil where that cannot be done.
	KillGuest func(t testing.TB, ref berth.SandboxRef)
	// Processes counts the living processes whose command line holds marker.
	Processes func(t testing.TB, ref berth.SandboxRef, marker string) int
	// Leftovers names what is left of a sandbox: folders, containers, processes.
	Leftovers func(t testing.TB, id berth.SandboxID) []string
	// GuestPeakBytes is the most memory that the guest has had; nil where that is
	// not known.
	GuestPeakBytes func(t testing.TB, ref berth.SandboxRef) int64
	// FarEndBytes is what the far end may take where it is a server of the tests'
	// own process: its memory is counted with the readers'.
	FarEndBytes int64
	// Asleep says that a stopped sandbox takes its outputs with it: until it is
	// started again, they are a conflict.
	Asleep bool
}

// Run tests a provider. It makes a fixture for each group of rules.
func Run(t *testing.T, fixture func(t *testing.T) Fixture) {
	groups := []struct {
		name string
		run  func(t *testing.T, s *sandbox)
	}{
		{"commands", testCommands},
		{"identity", testIdentity},
		{"ending", testEnding},
		{"input", testInput},
		{"streams", testStreams},
		{"output", testOutput},
		{"masking", testMasking},
		{"limits", testLimits},
		{"files", testFiles},
		{"guard", testGuard},
		{"search", testSearch},
		{"owner", testOwner},
		{"lifecycle", testLifecycle},
		{"volume", testVolume},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			bequeathTemp(t)
			g.run(t, newSandbox(t, fixture(t)))
		})
	}
}
