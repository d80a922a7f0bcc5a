//go:build linux

package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/hostagent"
)

// startFlag is the guest's flag that names its start.
const startFlag = "-sandbox-start"

// Provision starts a guest in spec.Directory. A directory that is not there and
// a bash that does not answer are told as a state failed with its reason, and
// nothing is left behind.
func (p *Provider) Provision(ctx context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	if err := spec.Check(berth.ProviderLocal); err != nil {
		return berth.SandboxState{}, err
	}
	b := p.boxes.Claim(spec.ID, p.newBox)
	b.life.Lock()
	defer b.life.Unlock()
	if b.gone { // destroyed while this waited for its turn
		return b.state(), nil
	}
	if b.agent != nil && b.meta.Status != berth.SandboxCreating {
		return b.state(), nil
	}
	if reason := p.refuse(spec); reason != nil {
		return b.abandon(ctx, *reason)
	}
	if b.agent == nil {
		if err := b.create(spec); err != nil {
			b.abandon(ctx, berth.Reason{})
			return berth.SandboxState{}, err
		}
	}
	reason, err := b.run(ctx)
	if reason != nil {
		return b.abandon(ctx, *reason)
	}
	if err != nil {
		b.abandon(ctx, berth.Reason{})
		return berth.SandboxState{}, err
	}
	return b.state(), nil
}

// create makes the folder, the record first.
func (b *box) create(spec berth.SandboxSpec) error {
	m := meta{
		ID: spec.ID, Installation: b.provider.config.Installation, Run: spec.Run, Workspace: filepath.Clean(spec.Directory),
		Status: berth.SandboxCreating, Boot: b.provider.boot, CreatedAt: b.provider.config.Clock.Now(),
	}
	m.Tag = proctree.NewTag()
	var err error
	if m.Since, err = proctree.Now(); err != nil {
		return err
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil && !os.IsExist(err) {
		return hostagent.DiskError("making a sandbox's folder", err)
	}
	if err := m.write(b.dir); err != nil {
		return err
	}
	return b.open(m)
}

// abandon removes a sandbox that could not be made.
func (b *box) abandon(ctx context.Context, reason berth.Reason) (berth.SandboxState, error) {
	err := b.destroy(context.WithoutCancel(ctx))
	return berth.SandboxState{ID: b.id, Run: b.meta.Run, Status: berth.SandboxFailed, Reason: &reason}, err
}

// refuse says why spec cannot become a sandbox on this machine.
func (p *Provider) refuse(spec berth.SandboxSpec) *berth.Reason {
	info, err := os.Stat(spec.Directory)
	if !filepath.IsAbs(spec.Directory) || err != nil || !info.IsDir() {
		return &berth.Reason{
			Code: berth.ReasonDirectoryMissing, Message: fmt.Sprintf("the directory %q is not there, or is no directory", spec.Directory),
			Remediation: "Set the environment's cwd to a directory of the server, or run with --target folder:PATH.",
		}
	}
	if _, err := p.bash(); err != nil {
		return bashReason(err)
	}
	return nil
}

func (p *Provider) bash() (string, error) {
	if p.config.Bash != "" {
		return p.config.Bash, nil
	}
	const usual = "/bin/bash"
	if info, err := os.Stat(usual); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return usual, nil
	}
	path, err := exec.LookPath("bash")
	if err != nil {
		return "", berth.Errorf(berth.CodeInvalid, "there is neither /bin/bash nor a bash in PATH")
	}
	return filepath.Abs(path)
}

func bashReason(err error) *berth.Reason {
	return &berth.Reason{
		Code: berth.ReasonBashMissing, Message: "bash does not work on the server: " + err.Error(),
		Remediation: "Install bash as /bin/bash (Debian, Ubuntu: apt-get install bash; Alpine: apk add bash) or put it into the server's PATH.",
	}
}

// probeLimit is the time that a guest has to connect and bash to answer.
const probeLimit = 15 * time.Second

// run starts a guest, or finds the one that is there, and waits for bash; life
// is held. reason is set when bash is at fault.
func (b *box) run(ctx context.Context) (reason *berth.Reason, err error) {
	b.mu.Lock()
	guest := b.guest
	b.mu.Unlock()
	if guest != nil && !guest.Alive() { // and its processes are being ended
		if !waitFor(ctx, guest.ended, endLimit) {
			return nil, berth.Errorf(berth.CodeUnavailable, "processes of the sandbox are still there")
		}
		guest = nil
	}
	if guest == nil {
		if err := b.spawn(); err != nil {
			return nil, err
		}
	}
	probeCtx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	if err := b.agent.Probe(probeCtx); err != nil {
		if berth.CodeOf(err) == berth.CodeInvalid {
			return bashReason(err), nil
		}
		return nil, berth.Wrap(err, "waiting for the sandbox's guest")
	}
	return nil, b.record(func(m *meta) { m.Status, m.Reason = berth.SandboxReady, nil })
}

// spawn starts the guest as a process of its own that outlives this one.
func (b *box) spawn() error {
	bash, err := b.provider.bash()
	if err != nil {
		return err
	}
	start := fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
	err = b.record(func(m *meta) {
		if m.Boot != b.provider.boot { // the machine was started anew since
			m.Boot, m.Since = b.provider.boot, 0
		}
		m.SandboxStart, m.PID, m.StartTime = start, 0, 0
	})
	if err != nil {
		return err
	}
	if err := b.agent.Listen(start); err != nil {
		return err
	}
	child, err := b.startProcess(bash, start)
	if err != nil {
		b.agent.End()
		return berth.Wrap(err, "starting the sandbox's guest")
	}
	b.agent.Expect(child.Pid)
	process, _ := proctree.Read(child.Pid)
	if err := b.record(func(m *meta) { m.PID, m.StartTime = child.Pid, process.StartTime }); err != nil {
		_ = child.Kill()
		_, _ = child.Wait()
		b.agent.End()
		return err
	}
	b.watch(process, child)
	return nil
}

func (b *box) startProcess(bash, start string) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	log, err := os.OpenFile(filepath.Join(b.dir, "guest.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// What this server was started with is not the guest's to keep open.
	if err := proctree.CloseOnExec(); err != nil {
		return nil, err
	}
	return os.StartProcess(b.provider.config.GuestPath, []string{
		"berth-guest", "-dir", filepath.Join(b.dir, "link"), startFlag, start, "-tag", strconv.FormatUint(uint64(b.meta.Tag), 10),
		"-workspace", b.meta.Workspace, "-bash", bash,
	}, &os.ProcAttr{
		Dir: "/", Env: b.provider.environ(), Files: []*os.File{null, null, log}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// environ is what commands inherit. The guest drops what is berth's.
func (p *Provider) environ() []string {
	if p.config.Unfiltered {
		return p.config.Environ
	}
	return FilterEnviron(p.config.Environ)
}

func refOf(pid int) string { return strconv.Itoa(pid) }
