//go:build linux

package exe_test

import (
	"context"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/exe"
	"github.com/berth-dev/berth/shared/sandbox/exe/exetest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/shell"
)

// rig is a provider with its exe.dev.
type rig struct {
	server  *exetest.Server
	config  func() exe.Config
	present *exe.Provider
}

func newRig(t *testing.T, change func(*exe.Config)) *rig {
	t.Helper()
	r := &rig{server: exetest.New(t)}
	guest := sandboxtest.GuestBytes(t)
	native := func(user, port string, known []byte) (exe.Shell, error) {
		return shell.NewNative(shell.NativeConfig{Destination: user, Port: port, Key: berth.NewSecretValue(r.server.Key), KnownHosts: known, AcceptNew: known == nil})
	}
	r.config = func() exe.Config {
		lobby, err := native(r.server.User()+"@127.0.0.1", r.server.Port, r.server.KnownHosts)
		if err != nil {
			t.Fatal(err)
		}
		config := exe.Config{
			// Each VM is this machine, with a home of its own.
			Installation: "test", Lobby: lobby,
			Connect: func(_ context.Context, destination, port string) (exe.Shell, error) {
				return native(destination, port, nil)
			},
			Guest: func(string) ([]byte, error) { return guest, nil },
		}
		if change != nil {
			change(&config)
		}
		return config
	}
	r.present = exe.New(r.config())
	t.Cleanup(func() { r.present.Close() })
	return r
}

// reopen is the next server.
func (r *rig) reopen() *exe.Provider {
	r.present.Close()
	r.present = exe.New(r.config())
	return r.present
}

func (r *rig) vm(t testing.TB, id berth.SandboxID) *exetest.VM {
	t.Helper()
	v := r.server.VMs()["berth-"+string(id)+"-vm"]
	if v == nil {
		t.Fatalf("there is no VM of sandbox %s", id)
	}
	return v
}

func spec(testing.TB) berth.SandboxSpec {
	return berth.SandboxSpec{
		ID:           sandboxtest.NewID(),
		Installation: "test", Run: "01arz3ndektsv4rrffq69g5fav",
		Environment: berth.Environment{Provider: berth.ProviderExe},
	}
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// provision goes on until the sandbox is more than creating.
func (r *rig) provision(t *testing.T, spec berth.SandboxSpec) (berth.SandboxState, error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		state, err := r.present.Provision(bounded(t), spec)
		if err != nil || state.Status != berth.SandboxCreating {
			return state, err
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is still being made: %+v", state)
		}
	}
}
