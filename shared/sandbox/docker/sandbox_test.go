//go:build linux

package docker_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/spool"
)

// patience bounds every wait. Nothing takes nearly as long.
const patience = time.Minute

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// box is a sandbox of one test, which destroys it at its end.
type box struct {
	*docker.Provider
	t   testing.TB
	ref berth.SandboxRef
}

var lastCommand atomic.Int64

// sandbox makes one and waits until it is ready.
func sandbox(t testing.TB, config docker.Config, spec berth.SandboxSpec) *box {
	t.Helper()
	if image := *spec.Environment.Image.Docker; slices.Contains(dockertest.Images, image) { // else the test has made it
		dockertest.Image(t, image)
	}
	p, err := docker.New(config)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	b := &box{Provider: p, t: t, ref: berth.SandboxRef{ID: spec.ID}}
	t.Cleanup(func() {
		if err := b.Destroy(bounded(t), b.ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		b.Provider.Close()
		noneLeft(t, engine(t), config.Installation)
	})
	if state := provision(t, b.Provider, spec); state.Status != berth.SandboxReady {
		t.Fatalf("provisioning: %+v, reason %+v", state, state.Reason)
	}
	return b
}

// provision makes a sandbox, as far as that goes.
func provision(t testing.TB, p berth.Provider, spec berth.SandboxSpec) (state berth.SandboxState) {
	t.Helper()
	eventually(t, "the sandbox is made", func() bool {
		var err error
		if state, err = p.Provision(bounded(t), spec); err != nil {
			t.Fatalf("Provision: %v", err)
		}
		return state.Status != berth.SandboxCreating
	})
	return state
}

// reopen lets go of the provider as a server does that dies.
func (b *box) reopen(config docker.Config) {
	b.t.Helper()
	if err := b.Provider.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open(config)
}

// open makes the next server's provider.
func (b *box) open(config docker.Config) {
	b.t.Helper()
	p, err := docker.New(config)
	if err != nil {
		b.t.Fatalf("New: %v", err)
	}
	b.Provider = p
}

func (b *box) start(spec berth.CommandSpec) berth.CommandID {
	b.t.Helper()
	if spec.ID == "" {
		spec.ID = berth.CommandID(fmt.Sprint("c", lastCommand.Add(1)))
	}
	if err := b.StartCommand(bounded(b.t), b.ref, spec); err != nil {
		b.t.Fatalf("StartCommand: %v", err)
	}
	return spec.ID
}

// wait reads both streams of a command to the end.
func (b *box) wait(id berth.CommandID) (string, berth.Exit) {
	b.t.Helper()
	text, exit, err := follow(bounded(b.t), b.Provider, b.ref, id)
	if err != nil {
		b.t.Fatalf("output of %s: %v, so far %q", id, err, text)
	}
	return text, exit
}

func follow(ctx context.Context, p berth.Provider, ref berth.SandboxRef, id berth.CommandID) (string, berth.Exit, error) {
	var text strings.Builder
	for offset := int64(0); ; {
		out, err := p.ReadOutput(ctx, ref, id, offset, 0, 10*time.Second)
		if err != nil {
			return text.String(), berth.Exit{}, err
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			return text.String(), berth.Exit{}, err
		}
		for _, f := range frames {
			text.Write(f.Data)
		}
		if offset = out.Next; out.Ended {
			return text.String(), *out.Exit, nil
		}
		if err := ctx.Err(); err != nil {
			return text.String(), berth.Exit{}, err
		}
	}
}

func (b *box) script(script string) string {
	b.t.Helper()
	text, exit := b.wait(b.start(berth.CommandSpec{Script: script}))
	if !exit.Succeeded() {
		b.t.Fatalf("%s: %+v, %q", script, exit, text)
	}
	return text
}

// untilOutput waits until a command has printed something.
func (b *box) untilOutput(id berth.CommandID) {
	b.t.Helper()
	eventually(b.t, "output of "+string(id), func() bool {
		out, err := b.ReadOutput(bounded(b.t), b.ref, id, 0, 0, time.Second)
		if err != nil || out.Ended {
			b.t.Fatalf("waiting for output of %s: %+v, %v", id, out, err)
		}
		frames, _, err := spool.Decode(out.Bytes)
		return err == nil && len(frames) > 0
	})
}

// put writes a program into the workspace.
func (b *box) put(name, path string) {
	b.t.Helper()
	program, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.WriteFile(bounded(b.t), b.ref, name, bytes.NewReader(program), int64(len(program)), 0o755, ""); err != nil {
		b.t.Fatal(err)
	}
}

// dockerCommand runs the usual client, as a person does.
func dockerCommand(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(bounded(t), "docker", args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func containerOf(ref berth.SandboxRef) string { return "berth-" + string(ref.ID) }

// buildHostile builds testdata/hostile.
func buildHostile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hostile")
	cmd := exec.Command("go", "build", "-o", path, "./testdata/hostile")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the hostile program: %v\n%s", err, out)
	}
	return path
}
