//go:build linux

package local_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/spool"
)

// ownerEnv makes this test binary a server: root, guest, sandbox id, directory.
const ownerEnv = "TEST_LOCAL_OWNER"

func TestMain(m *testing.M) {
	if args := os.Getenv(ownerEnv); args != "" {
		if err := own(strings.Split(args, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const lines = 250

var counter = berth.CommandSpec{
	ID: "counter", Script: fmt.Sprintf("for i in {1..%d}; do echo $i; read -t 0.002 <> <(:); done; exit 9", lines),
}

// own does what a server does with a run, step by step, as often as it is begun.
func own(args []string) error {
	p, err := local.New(local.Config{Root: args[0], GuestPath: args[1], Installation: "test"})
	if err != nil {
		return err
	}
	spec := berth.SandboxSpec{ID: berth.SandboxID(args[2]), Installation: "test", Run: "r", Directory: args[3]}
	_, err = finish(p, spec, func() { fmt.Println("started") })
	return err
}

// finish brings the run to its end and returns its output.
func finish(p berth.Provider, spec berth.SandboxSpec, started func()) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	state, err := p.Provision(ctx, spec)
	if err != nil || state.Status != berth.SandboxReady {
		return "", fmt.Errorf("provision: %+v, %w", state, err)
	}
	ref := berth.SandboxRef{ID: spec.ID}
	if err := p.StartCommand(ctx, ref, counter); err != nil {
		return "", fmt.Errorf("start: %w", err)
	}
	started()
	var text strings.Builder
	for offset := int64(0); ; {
		out, err := p.ReadOutput(ctx, ref, counter.ID, offset, 200, time.Second)
		if err != nil {
			return "", fmt.Errorf("read: %w", err)
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			return "", err
		}
		for _, f := range frames {
			text.Write(f.Data)
		}
		if offset = out.Next; out.Ended {
			if out.Exit.Code != 9 {
				return "", fmt.Errorf("exit: %+v", *out.Exit)
			}
			return text.String(), nil
		}
	}
}

func TestAServerKilledAtAnyMomentLosesNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many guests")
	}
	guest := sandboxtest.BuildGuest(t)
	for seed := range 20 {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 0))
			config := local.Config{Root: filepath.Join(t.TempDir(), "s"), GuestPath: guest}
			spec := spec(t)
			for range 3 {
				// Half of the moments lie in the making of the sandbox.
				killOwner(t, config, spec, seed%2 == 0, time.Duration(rnd.IntN(60_000))*time.Microsecond)
			}
			p := open(t, config)
			defer p.Close()
			got, err := finish(p, spec, func() {})
			if err != nil {
				t.Fatal(err)
			}
			var want strings.Builder
			for i := range lines {
				fmt.Fprintln(&want, i+1)
			}
			if got != want.String() {
				t.Errorf("output is not every line once: %q", got)
			}
			// A guest whose server died before it wrote it down ends by itself.
			guests := 0
			for range 500 {
				if guests = len(sandboxtest.Processes(string(spec.ID))); guests == 1 {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			if guests != 1 {
				t.Errorf("%d guests, want 1", guests)
			}
			if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
				t.Error(err)
			}
			if left := sandboxtest.Processes(string(spec.ID)); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

// killOwner begins a server and kills it after a while: counted from its start,
// or from when it has started the command.
func killOwner(t *testing.T, config local.Config, spec berth.SandboxSpec, fromStart bool, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+strings.Join([]string{config.Root, config.GuestPath, string(spec.ID), spec.Directory}, "|"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !fromStart {
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Errorf("the server said %q, %v", line, err)
		}
	}
	time.Sleep(after)
	_ = cmd.Process.Kill() // it may have finished
	_ = cmd.Wait()
}
