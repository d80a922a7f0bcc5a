//go:build linux

package docker_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// ownerEnv makes this test binary a server: root, guest, installation, sandbox id,
// transport.
const ownerEnv = "TEST_DOCKER_OWNER"

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

const counted = 250

var counter = berth.CommandSpec{
	ID: "counter", Script: fmt.Sprintf("for i in {1..%d}; do echo $i; sleep 0.004; done; exit 9", counted),
}

// own does what a server does with a run, step by step, as often as it is begun.
func own(args []string) error {
	p, err := docker.New(docker.Config{
		Root: args[0], Installation: berth.InstallationID(args[2]), Guest: func(string) (string, error) { return args[1], nil },
		Transport: docker.Transport(args[4]),
	})
	if err != nil {
		return err
	}
	spec := specOf(dockertest.User)
	spec.ID = berth.SandboxID(args[3])
	_, err = finish(p, spec, func() { fmt.Println("started") })
	return err
}

// finish brings the run to its end and returns its output.
func finish(p berth.Provider, spec berth.SandboxSpec, started func()) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	state, err := p.Provision(ctx, spec)
	for err == nil && state.Status == berth.SandboxCreating {
		time.Sleep(10 * time.Millisecond)
		state, err = p.Provision(ctx, spec)
	}
	if err != nil || state.Status != berth.SandboxReady {
		return "", fmt.Errorf("provision: %+v, %+v, %w", state, state.Reason, err)
	}
	ref := berth.SandboxRef{ID: spec.ID}
	if err := p.StartCommand(ctx, ref, counter); err != nil {
		return "", fmt.Errorf("start: %w", err)
	}
	started()
	text, exit, err := follow(ctx, p, ref, counter.ID)
	if err == nil && exit.Code != 9 {
		err = fmt.Errorf("exit: %+v", exit)
	}
	return text, err
}

func TestAServerKilledAtAnyMomentLosesNothing(t *testing.T) {
	dockertest.Image(t, dockertest.User)
	const seeds = 28
	for seed := range seeds {
		transport := docker.TransportSocket
		if seed >= 20 {
			transport = docker.TransportAttached
		}
		t.Run(fmt.Sprint(transport, ", seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 0))
			config := over(t, transport)
			spec := specOf(dockertest.User)
			for range 3 {
				// Half of the moments lie in the making of the sandbox.
				early, limit := seed%2 == 0, 1000
				if early {
					limit = 600
				}
				killOwner(t, config, spec.ID, early, time.Duration(rnd.IntN(limit))*time.Millisecond)
			}
			p := open(t, config)
			got, err := finish(p, spec, func() {})
			if err != nil {
				t.Errorf("the last server: %v", err)
			}
			var want strings.Builder
			for i := range counted {
				fmt.Fprintln(&want, i+1)
			}
			if got != want.String() {
				t.Errorf("output is not every line once: %q", got)
			}
			if names := containers(t, engine(t), "dev.berth.installation="+string(config.Installation)); len(names) != 1 {
				t.Errorf("containers %v", names)
			}
			if err := p.Destroy(t.Context(), berth.SandboxRef{ID: spec.ID}); err != nil {
				t.Error(err)
			}
			nothingLeft(t, p, config, spec.ID)
		})
	}
}

// killOwner begins a server and kills it after a while: counted from its start,
// or from when it has started the command.
func killOwner(t *testing.T, config docker.Config, id berth.SandboxID, early bool, after time.Duration) {
	t.Helper()
	guest, err := config.Guest("")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+strings.Join([]string{config.Root, guest, string(config.Installation), string(id), string(config.Transport)}, "|"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !early {
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Errorf("the server said %q, %v", line, err)
		}
	}
	time.Sleep(after)
	_ = cmd.Process.Kill() // it may have finished
	_ = cmd.Wait()
}
