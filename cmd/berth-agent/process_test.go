//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/listen/listentest"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/remote"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/spool"
	"github.com/berth-dev/berth/shared/tokenfile"
)

// The test binary is also the agent, and a reader of a command's output: started
// again with one of these it is that.
const (
	agentEnv  = "TEST_BERTH_AGENT"  // arguments, split by |
	readerEnv = "TEST_BERTH_READER" // folder, URL, installation, sandbox and command, split by |
)

func TestMain(m *testing.M) {
	if args := os.Getenv(agentEnv); args != "" {
		ctx, stop := untilSignal()
		defer stop()
		os.Exit(run(ctx, strings.Split(args, "|"), os.Stdout, os.Stderr))
	}
	if args := os.Getenv(readerEnv); args != "" {
		if err := readAsProcess(strings.Split(args, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const patience = time.Minute

// installation is of this run of the tests: an engine may be that of others too.
var installation = berth.InstallationID("agent-" + strings.ToLower(rand.Text()))

// process is an agent in a process of its own, which a test may kill.
type process struct {
	kind   berth.ProviderKind
	dir    folder
	guest  string
	listen string
	more   []string // arguments
	cmd    *exec.Cmd
	url    string
	stderr said
}

func startProcess(t *testing.T, kind berth.ProviderKind) *process {
	t.Helper()
	p := &process{kind: kind, dir: folder(filepath.Join(t.TempDir(), "agent")), guest: sandboxtest.BuildGuest(t), listen: listentest.Address(t)}
	p.start(t)
	t.Cleanup(p.finish)
	return p
}

func (p *process) command(args ...string) *exec.Cmd {
	args = append(append([]string{
		"serve", "--data-dir", string(p.dir), "--listen", p.listen, "--guest", p.guest, "--verbose",
		"--docker", map[bool]string{true: "auto", false: "off"}[p.kind == berth.ProviderDocker],
		"--allow-local=" + strconv.FormatBool(p.kind == berth.ProviderLocal),
	}, p.more...), args...)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), agentEnv+"="+strings.Join(args, "|"))
	return cmd
}

// start returns when the agent has printed where it is. Later starts are on the
// same address.
func (p *process) start(t *testing.T) {
	t.Helper()
	p.cmd = p.command()
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("the agent ended as it started: %v, %s", p.cmd.Wait(), &p.stderr)
	}
	p.url = lines.Text()
	p.listen = strings.TrimPrefix(p.url, "https://")
}

// kill ends the agent with KILL and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone
	_ = p.cmd.Wait()
}

// finish ends the agent in good order at the end of a test, if it is there: one that
// is killed as it tries the engine would leave the image of its probe for a day.
func (p *process) finish() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
}

// end ends the agent in good order and returns its exit status.
func (p *process) end(t *testing.T) int { return p.endBy(t, syscall.SIGTERM) }

func (p *process) endBy(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, p.kill)
	defer timer.Stop()
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// connectTo makes the client of an agent from what is in its folder.
func connectTo(dir folder, url string, kind berth.ProviderKind, installation berth.InstallationID) (*remote.Provider, error) {
	certificate, err := dir.readCertificate()
	if err != nil {
		return nil, err
	}
	token, err := tokenfile.Read(dir.token())
	if err != nil {
		return nil, err
	}
	return remote.New(remote.Config{
		URL: url, Fingerprint: fingerprintOf(certificate), Token: token, Kind: kind, Installation: installation,
	})
}

func (p *process) connect(t *testing.T) *remote.Provider {
	t.Helper()
	r, err := connectTo(p.dir, p.url, p.kind, installation)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// ready makes a sandbox, of the smallest image on docker, and takes care that it goes.
func ready(t *testing.T, p *remote.Provider) berth.SandboxRef {
	t.Helper()
	image := dockertest.Static
	spec := berth.SandboxSpec{
		ID: sandboxtest.NewID(), Run: "01arz3ndektsv4rrffq69g5fav", Directory: t.TempDir(),
		Environment: berth.Environment{Provider: p.Kind()},
	}
	if p.Kind() == berth.ProviderDocker {
		spec.Environment.Image.Docker, spec.Environment.Network.Mode = &image, berth.NetworkBlock
	}
	ref := berth.SandboxRef{ID: spec.ID}
	t.Cleanup(func() {
		if err := p.Destroy(context.WithoutCancel(t.Context()), ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
	})
	state, err := p.Provision(t.Context(), spec)
	for deadline := time.Now().Add(patience); err == nil && state.Status == berth.SandboxCreating && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		state, err = p.Describe(t.Context(), ref)
	}
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Provision = %+v, %v", state, err)
	}
	ref.Ref = state.Ref
	return ref
}

// follow reads a command's output as the runner does: while the agent is not
// there it asks again from where it is.
func follow(ctx context.Context, p berth.Provider, ref berth.SandboxRef, id berth.CommandID, take func([]byte)) (berth.Exit, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for offset := int64(0); ; {
		out, err := p.ReadOutput(ctx, ref, id, offset, 0, 2*time.Second)
		if berth.CodeOf(err) == berth.CodeUnavailable && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return berth.Exit{}, err
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			return berth.Exit{}, err
		}
		for _, f := range frames {
			take(f.Data)
		}
		if offset = out.Next; out.Ended {
			return *out.Exit, nil
		}
	}
}

// readAsProcess prints the hash of a command's output, its length and this
// process's peak of resident bytes.
func readAsProcess(args []string) error {
	p, err := connectTo(folder(args[0]), args[1], berth.ProviderLocal, berth.InstallationID(args[2]))
	if err != nil {
		return err
	}
	h, n := sha256.New(), 0
	_, err = follow(context.Background(), p, berth.SandboxRef{ID: berth.SandboxID(args[3])}, berth.CommandID(args[4]), func(b []byte) {
		h.Write(b)
		n += len(b)
	})
	if err != nil {
		return err
	}
	peak, err := peakBytes(os.Getpid())
	fmt.Println(hex.EncodeToString(h.Sum(nil)), n, peak)
	return err
}

// peakBytes is the most that a process has had resident.
func peakBytes(pid int) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(b), "VmHWM:")
	if !found {
		return 0, fmt.Errorf("process %d has no VmHWM", pid)
	}
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kib << 10, err
}
