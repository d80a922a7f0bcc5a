//go:build linux

package local

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/hostagent"
)

// box is one sandbox: its folder, its guest, and the agent that talks to it.
type box struct {
	provider *Provider
	id       berth.SandboxID
	dir      string
	life     sync.Mutex // held by what makes, stops, starts or destroys it

	mu    sync.Mutex // guards all below
	meta  meta
	agent *hostagent.Sandbox // nil until there is a folder
	guest *guestProcess      // nil while none lives
	gone  bool               // destroyed
	// ending says that somebody who holds life ends the processes.
	ending bool
}

// guestProcess is a guest that was seen alive.
type guestProcess struct {
	proctree.Process
	ended chan struct{} // closed when it is gone
}

func (p *Provider) newBox(id berth.SandboxID) *box {
	return &box{provider: p, id: id, dir: filepath.Join(p.config.Root, string(id))}
}

// open makes the folder and the agent; life is held.
func (b *box) open(m meta) error {
	agent, err := hostagent.OpenSandbox(hostagent.SandboxConfig{
		SocketDir: filepath.Join(b.dir, "link"),
		SpoolDir:  filepath.Join(b.dir, "spool"),
		Logger:    hostagent.LogWith(b.provider.config.Logger, "sandbox", string(b.id)),
		Oversize:  b.oversize,
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meta, b.agent = m, agent
	return nil
}

// record changes the record, on disk first; life is held.
func (b *box) record(change func(*meta)) error {
	b.mu.Lock()
	m := b.meta
	b.mu.Unlock()
	change(&m)
	if err := m.write(b.dir); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meta = m
	return nil
}

// adopt takes up a sandbox that an earlier server recorded; life is held.
func (b *box) adopt(m meta) error {
	if err := b.open(m); err != nil {
		return err
	}
	if m.Status == berth.SandboxDestroyed {
		return b.destroy(context.Background())
	}
	process, alive := m.guest(b.provider.boot)
	if !alive || m.Status == berth.SandboxStopped { // or the server died while it stopped this one
		b.endProcesses(context.Background(), m)
		return nil
	}
	if err := b.agent.Listen(m.SandboxStart); err != nil {
		return err
	}
	if m.PID == 0 {
		if err := b.record(func(m *meta) { m.PID, m.StartTime = process.PID, process.StartTime }); err != nil {
			return err
		}
	}
	b.agent.Expect(process.PID)
	b.watch(process, nil)
	return nil
}

// aliveCheck is how often a guest that is no child of this server is looked at.
const aliveCheck = 200 * time.Millisecond

// watch waits for the end of the guest, which is child when this process
// started it.
func (b *box) watch(process proctree.Process, child *os.Process) {
	guest := &guestProcess{process, make(chan struct{})}
	b.mu.Lock()
	b.guest = guest
	m := b.meta
	b.mu.Unlock()
	exited := make(chan struct{})
	if child != nil {
		// Not waited for: the guest outlives this provider, and somebody in this
		// process has to reap it.
		go func() {
			_, _ = child.Wait()
			close(exited)
		}()
	}
	b.provider.work.Go(func() {
		tick := time.NewTicker(aliveCheck)
		defer tick.Stop()
		for alive := true; alive; {
			select {
			case <-exited:
				alive = false
			case <-tick.C:
				alive = process.Alive()
			case <-b.provider.closed:
				return
			}
		}
		b.mu.Lock()
		ending := b.ending
		b.mu.Unlock()
		if !ending {
			b.endProcesses(context.Background(), m)
		}
		b.agent.End()
		b.mu.Lock()
		b.guest = nil
		b.mu.Unlock()
		close(guest.ended)
	})
}

// endLimit is the time that processes have to die of KILL.
const endLimit = 10 * time.Second

// endProcesses ends every process of the sandbox, the guest too, and reports whether none is left. Processes of a guest that died have other
// parents by then; their tag tells.
func (b *box) endProcesses(ctx context.Context, m meta) bool {
	if m.Boot != b.provider.boot {
		return true
	}
	guest, alive := m.guest(b.provider.boot)
	return proctree.End(ctx, proctree.Ending{Limit: endLimit, Again: 1, Find: func(all []proctree.Process) []proctree.Process {
		if alive && guest.Alive() {
			return append(proctree.Below(all, guest.PID), guest)
		}
		return proctree.Tagged(all, m.Tag, m.Since)
	}})
}

// oversize is called when a spool grows without bound.
func (b *box) oversize(id berth.CommandID) {
	b.provider.config.Logger.Error("a command's output is past its cap; its sandbox is ended", "sandbox", string(b.id), "command", string(id))
	b.mu.Lock()
	m := b.meta
	b.mu.Unlock()
	b.provider.work.Go(func() { b.endProcesses(context.Background(), m) })
}

// letGo closes the agent and leaves the guest alone.
func (b *box) letGo() {
	b.mu.Lock()
	agent := b.agent
	b.mu.Unlock()
	if agent != nil {
		agent.Close()
	}
}

// state is what is known now.
func (b *box) state() berth.SandboxState {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := berth.SandboxState{
		ID: b.id, Run: b.meta.Run, Status: b.meta.Status, Workspace: b.meta.Workspace, Reason: b.meta.Reason, CreatedAt: b.meta.CreatedAt,
		Hint: "cd " + berth.ShellQuote(b.meta.Workspace),
	}
	switch {
	case b.gone || b.agent == nil || s.Status == berth.SandboxDestroyed:
		return berth.SandboxState{ID: b.id, Status: berth.SandboxGone}
	case s.Status == berth.SandboxReady && b.guest == nil:
		s.Status = berth.SandboxFailed
		s.Reason = &berth.Reason{
			Code: berth.ReasonLost, Message: "the sandbox's guest process has ended",
			Remediation: "Start the sandbox again, or make a new one; commands that ran in it are lost.",
		}
	case b.guest != nil:
		s.Ref = refOf(b.guest.PID)
	}
	return s
}
