package daytona

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// The places in the home of the sandbox's user, which is always writable: in
// Daytona's own snapshots the workspace is /home/daytona/workspace.
const (
	workspaceName = "workspace"
	folderName    = ".berth"
)

// scriptLimit bounds the short scripts that prepare a sandbox.
const scriptLimit = 20 * time.Second

// equip makes a started sandbox ready for commands: it uploads the guest, starts
// its daemon, waits until bash has answered, and labels the sandbox.
func (m *making) equip(ctx context.Context, s daytonaapi.Sandbox) (*live, error) {
	p, ref := m.provider, berth.SandboxRef{ID: m.plan.spec.ID, Ref: s.ID}
	l, err := p.prepare(ctx, s)
	if p.isUnable(err) {
		return p.equipPlain(ctx, ref, m.plan.spec.Run, l, false)
	}
	if err != nil {
		return nil, err
	}
	b := p.box(ref.ID)
	b.setLive(l)
	state, err := p.Sandboxes.Provision(ctx, ref, relay.Place{Run: m.plan.spec.Run, Directory: l.workspace, Make: true})
	if err == nil {
		err = checkGuest(state)
	}
	if err == nil {
		err = p.label(ctx, l)
	}
	if err != nil {
		b.setLive(nil)
		return nil, err
	}
	return l, nil
}

// resume does the same for a sandbox that was stopped.
func (p *Provider) resume(ctx context.Context, s daytonaapi.Sandbox, ref berth.SandboxRef) (*live, error) {
	l, err := p.prepare(ctx, s)
	if p.isUnable(err) {
		return p.equipPlain(ctx, ref, berth.RunID(s.Labels[labelRun]), l, true)
	}
	if err != nil {
		return nil, err
	}
	p.box(ref.ID).setLive(l)
	state, err := p.Sandboxes.Start(ctx, ref)
	if err == nil {
		err = checkGuest(state)
	}
	if err == nil {
		err = p.label(ctx, l)
	}
	return l, err
}

func checkGuest(state berth.SandboxState) error {
	if state.Status == berth.SandboxReady {
		return nil
	}
	if state.Reason != nil {
		return &unfit{state.Reason}
	}
	return unfitf(berth.ReasonProvisionFailed, "", "the sandbox's guest says "+string(state.Status))
}

// prepare uploads the guest unless it is there, and starts its daemon. Where the
// guest does not run, the error is an *unable and what is returned of use.
func (p *Provider) prepare(ctx context.Context, s daytonaapi.Sandbox) (*live, error) {
	toolbox, err := p.client.Toolbox(ctx, s)
	if err != nil {
		return nil, err
	}
	if _, err := toolbox.Version(ctx); err != nil {
		return nil, berth.Wrap(err, "waiting for the sandbox's toolbox")
	}
	home, err := toolbox.HomeDir(ctx)
	if err != nil {
		return nil, err
	}
	l := &live{sandbox: s, toolbox: toolbox, workspace: path.Join(home, workspaceName)}
	if kept := s.Labels[labelWorkspace]; kept != "" {
		l.workspace = kept
	}
	guest, err := p.guestFor(ctx, toolbox)
	if err != nil {
		return l, err
	}
	sum := sha256.Sum256(guest)
	l.guest = hex.EncodeToString(sum[:8])
	info, err := toolbox.Stat(ctx, l.program())
	if isNotFound(err) || err == nil && info.Size != int64(len(guest)) {
		err = toolbox.Upload(ctx, l.program(), guest)
	}
	if err != nil {
		return l, berth.Wrap(err, "uploading the guest")
	}
	return l, p.startDaemon(ctx, l)
}

// guestFor finds out what the sandbox is, and whether it has bash.
func (p *Provider) guestFor(ctx context.Context, toolbox *daytonaapi.Toolbox) ([]byte, error) {
	said, err := toolbox.Execute(ctx, "uname -m; [ -x /bin/bash ] && echo bash", scriptLimit)
	if err != nil {
		return nil, berth.Wrap(err, "looking into the sandbox")
	}
	words := strings.Fields(said.Result)
	if len(words) == 0 {
		return nil, berth.Errorf(berth.CodeUnavailable, "the sandbox does not say what machine it is: %q", said.Result)
	}
	if len(words) < 2 || words[1] != "bash" {
		return nil, unfitf(berth.ReasonBashMissing, "Use a snapshot or Dockerfile with bash.", "the sandbox has no /bin/bash")
	}
	arch, ok := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[words[0]]
	if !ok {
		return nil, unablef("", "the sandbox's machine is "+words[0]+", for which there is no guest")
	}
	return p.config.Guest(arch)
}

// startDaemon starts the daemon by itself, and waits for its socket: one that a
// relay starts is below the relay's session, and could end with it.
func (p *Provider) startDaemon(ctx context.Context, l *live) error {
	ref := berth.SandboxID(l.sandbox.Labels[labelSandbox])
	program, root := berth.ShellQuote(l.program()), berth.ShellQuote(l.root(ref))
	script := fmt.Sprintf(`chmod 0755 %[1]s && %[1]s works && mkdir -p -m 0700 %[2]s || exit 1
run=; command -v setsid >/dev/null && run=setsid
( cd /; $run %[1]s daemon %[3]s </dev/null >>%[2]s/daemon.log 2>&1 & )
for i in 1 2 3 4 5 6 7 8 9 10; do [ -S %[2]s/s ] && break; sleep 0.1 || sleep 1; done
echo started
`, program, root, p.guestFlags(l, ref))
	var said daytonaapi.Executed
	for try := range maxBusy {
		var err error
		if said, err = l.toolbox.Execute(ctx, script, scriptLimit); err != nil {
			return berth.Wrap(err, "starting the guest")
		}
		// A toolbox that starts something while it writes a file keeps the file open a
		// moment longer than the upload.
		if !strings.Contains(said.Result, "Text file busy") {
			break
		}
		if err := p.config.Clock.Sleep(ctx, time.Duration(try+1)*p.config.Pace.Poll/4); err != nil {
			return err
		}
	}
	if said.ExitCode != 0 || !strings.Contains(said.Result, "started") {
		return unablef("Use a snapshot whose home directory lets programs run.",
			"the guest does not run in the sandbox: "+strings.TrimSpace(said.Result))
	}
	return nil
}

// maxBusy is how often the guest is tried while its file is still open.
const maxBusy = 10

func (p *Provider) guestFlags(l *live, id berth.SandboxID) string {
	return fmt.Sprintf("-root %s -sandbox %s -installation %s -unfiltered", berth.ShellQuote(l.root(id)), id, berth.ShellQuote(string(p.config.Installation)))
}

func (l *live) folder() string { return path.Join(path.Dir(l.workspace), folderName) }

func (l *live) program() string { return path.Join(l.folder(), "guest-"+l.guest) }

func (l *live) root(id berth.SandboxID) string { return path.Join(l.folder(), string(id)) }

// label marks the sandbox as ready: whoever finds it knows where everything is.
func (p *Provider) label(ctx context.Context, l *live) error {
	if l.sandbox.Labels[labelWorkspace] == l.workspace && l.sandbox.Labels[labelGuest] == l.guest {
		return nil
	}
	labels := maps.Clone(l.sandbox.Labels)
	labels[labelWorkspace], labels[labelGuest] = l.workspace, l.guest
	if err := p.client.ReplaceLabels(ctx, l.sandbox.ID, labels); err != nil {
		return berth.Wrap(err, "labelling the sandbox")
	}
	l.sandbox.Labels = labels
	return nil
}

// way finds how a sandbox that is ready is reached. Errors: not_found; conflict
// while it is being made or stopped; unavailable.
func (p *Provider) way(ctx context.Context, ref berth.SandboxRef, create bool) (*live, error) {
	b := p.box(ref.ID)
	b.mu.Lock()
	l, gone := b.live, b.gone
	b.mu.Unlock()
	switch {
	case gone:
		return nil, errNoSandbox
	case l != nil:
		return l, nil
	case create:
		return nil, berth.Errorf(berth.CodeUnavailable, "making the sandbox was interrupted")
	}
	s, err := p.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	switch state := p.stateOf(s, ref.ID); {
	case !s.State.Known():
		return nil, unknownState(s)
	case state.Status == berth.SandboxReady:
	case state.Status == berth.SandboxCreating && state.Workspace != "": // it is being started again
		return nil, berth.Errorf(berth.CodeUnavailable, "the sandbox is not running yet: Daytona says %s", s.State)
	default:
		return nil, berth.Errorf(berth.CodeConflict, "the sandbox is not running: Daytona says %s", s.State)
	}
	toolbox, err := p.client.Toolbox(ctx, s)
	if err != nil {
		return nil, err
	}
	l = &live{sandbox: s, toolbox: toolbox, workspace: s.Labels[labelWorkspace], guest: s.Labels[labelGuest]}
	b.setLive(l)
	return l, nil
}

// lose forgets how a sandbox is reached: what is known of it may be old.
func (p *Provider) lose(id berth.SandboxID, l *live) {
	b := p.box(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live == l && (b.making == nil || !b.making.active()) {
		b.live = nil
	}
}
