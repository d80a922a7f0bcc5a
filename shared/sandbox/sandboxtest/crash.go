package sandboxtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/spool"
)

const (
	// serverEnv makes a test binary a server; its value is the server's arguments.
	serverEnv = "TEST_SANDBOX_SERVER"
	separator = "|"

	counted     = 250 // lines
	countedExit = 9
)

var counting = berth.CommandSpec{
	ID: "counter", Script: fmt.Sprintf("for i in {1..%d}; do echo $i; read -t 0.002 <> <(:); done; exit %d", counted, countedExit),
}

// Counted is what a run that is brought to its end has written.
func Counted() string {
	var all strings.Builder
	for i := range counted {
		fmt.Fprintln(&all, i+1)
	}
	return all.String()
}

// Main is for TestMain of a package whose tests kill servers: the test binary is one
// when KillServer starts it. open makes its provider and names its sandbox.
func Main(m *testing.M, open func(args []string) (berth.Provider, berth.SandboxSpec, error)) {
	args := os.Getenv(serverEnv)
	if args == "" {
		os.Exit(m.Run())
	}
	p, spec, err := open(strings.Split(args, separator))
	if err == nil {
		_, err = finish(p, spec, func() { fmt.Println("started") })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Finish does what a server does with a run that counts, step by step, as often as it
// is begun, and returns all that the run wrote.
func Finish(p berth.Provider, spec berth.SandboxSpec) (string, error) {
	return finish(p, spec, func() {})
}

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
	if err := p.StartCommand(ctx, ref, counting); err != nil {
		return "", fmt.Errorf("start: %w", err)
	}
	started()
	var text strings.Builder
	for offset := int64(0); ; {
		out, err := p.ReadOutput(ctx, ref, counting.ID, offset, 200, time.Second)
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
		if offset = out.Next; !out.Ended {
			continue
		}
		if out.Exit.Code != countedExit {
			return "", fmt.Errorf("exit: %+v", *out.Exit)
		}
		return text.String(), nil
	}
}

// KillServer begins a server and kills it after a while: counted from its start when
// early, else from when it has started the command.
func KillServer(t *testing.T, early bool, after time.Duration, args ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+strings.Join(args, separator))
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
