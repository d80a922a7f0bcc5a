package shell

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// master is the process that keeps a connection for others.
type master struct {
	cmd    *exec.Cmd
	stderr *tail
	ended  chan struct{}
	err    error // set when ended is closed
}

// keep makes sure that there is a kept connection. Its error says why the machine
// cannot be reached.
func (p *Program) keep(ctx context.Context) error {
	if p.socket() == "none" {
		return nil // each line has its own
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return failure(p.config.Destination, "it was closed", nil)
	}
	m := p.master
	if m == nil || m.over() {
		_ = os.Remove(p.socket())
		m = &master{cmd: p.command("yes", "-N", "-o", "ControlPersist=no", "--", p.config.Destination), stderr: &tail{most: maxStderr}, ended: make(chan struct{})}
		m.cmd.Stderr, m.cmd.SysProcAttr = m.stderr, endsWithServer()
		if err := m.cmd.Start(); err != nil {
			p.mu.Unlock()
			return failure(p.config.Destination, err.Error(), err)
		}
		go func() {
			m.err = m.cmd.Wait()
			close(m.ended)
		}()
		p.master = m
	}
	p.mu.Unlock()
	return p.await(ctx, m)
}

func (m *master) over() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// await waits until the connection is there. The program makes its socket when
// the other side has let it in.
func (p *Program) await(ctx context.Context, m *master) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if _, err := os.Stat(p.socket()); err == nil {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-m.ended:
			timer.Stop()
			return failure(p.config.Destination, m.stderr.String(), m.err)
		case <-ctx.Done():
			timer.Stop()
			return contextError(ctx)
		case <-timer.C:
		}
	}
}

// stop ends the connection.
func (m *master) stop() {
	_ = m.cmd.Process.Signal(os.Interrupt)
	select {
	case <-m.ended:
	case <-time.After(closeGrace):
		_ = m.cmd.Process.Kill()
		<-m.ended
	}
}
