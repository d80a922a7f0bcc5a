package runnertest

import (
	"context"
	"slices"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// StartCommand starts a command once.
func (p *Provider) StartCommand(_ context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called("StartCommand"); err != nil {
		return err
	}
	sb, err := p.find(ref.ID)
	if err != nil {
		return err
	}
	if c := sb.commands[spec.ID]; c != nil {
		if c.spec.ID != "" && !slices.Equal(c.spec.Argv, spec.Argv) {
			return berth.Errorf(berth.CodeConflict, "command %s is in use", spec.ID)
		}
		return nil
	}
	if sb.state.Status != berth.SandboxReady {
		return berth.Errorf(berth.CodeConflict, "sandbox %s is %s", ref.ID, sb.state.Status)
	}
	c := newProcess(spec)
	sb.commands[spec.ID] = c
	name := spec.Script
	if len(spec.Argv) > 0 {
		name = spec.Argv[0]
	}
	c.begin(p.Programs[name])
	return nil
}

// Started returns what a command was started with, and whether it was.
func (p *Provider) Started(sandbox berth.SandboxID, id berth.CommandID) (berth.CommandSpec, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sb := p.sandboxes[sandbox]; sb != nil && sb.commands[id] != nil {
		return sb.commands[id].spec, sb.commands[id].spec.ID != ""
	}
	return berth.CommandSpec{}, false
}

func (p *Provider) command(method string, ref berth.SandboxRef, id berth.CommandID) (*sandbox, *process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.called(method); err != nil {
		return nil, nil, err
	}
	sb, err := p.find(ref.ID)
	if err != nil {
		return nil, nil, err
	}
	if c := sb.commands[id]; c != nil {
		return sb, c, nil
	}
	return sb, nil, berth.Errorf(berth.CodeNotFound, "sandbox %s has no command %s", ref.ID, id)
}

// DescribeCommand tells of a command.
func (p *Provider) DescribeCommand(_ context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	_, c, err := p.command("DescribeCommand", ref, id)
	if err != nil {
		return berth.CommandState{}, err
	}
	return c.describe(), nil
}

// ReadOutput reads whole frames. Of a sandbox that is gone it says lost.
func (p *Provider) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	sb, c, err := p.command("ReadOutput", ref, id)
	if sb == nil && berth.CodeOf(err) == berth.CodeNotFound {
		return berth.Output{Next: offset, Ended: true, Exit: lost()}, nil
	}
	if err != nil {
		return berth.Output{}, err
	}
	return c.read(ctx, offset, limit, min(wait, readWait))
}

func lost() *berth.Exit {
	return &berth.Exit{Code: -1, Reason: berth.ExitLost, Message: "the sandbox is gone"}
}

// WriteInput appends to standard input.
func (p *Provider) WriteInput(_ context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	_, c, err := p.command("WriteInput", ref, id)
	if err != nil {
		return 0, err
	}
	return c.writeInput(offset, data, eof)
}

// Signal ends the command by the signal; one that has not started never does.
func (p *Provider) Signal(_ context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error {
	return p.interrupt("Signal", ref, id, berth.Exit{Code: 143, Signal: signal, Reason: berth.ExitSignalled})
}

// Cancel ends the command; one that has not started never does.
func (p *Provider) Cancel(_ context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	return p.interrupt("Cancel", ref, id, berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitCancelled})
}

func (p *Provider) interrupt(method string, ref berth.SandboxRef, id berth.CommandID, exit berth.Exit) error {
	sb, c, err := p.command(method, ref, id)
	if sb != nil && berth.CodeOf(err) == berth.CodeNotFound {
		p.mu.Lock()
		defer p.mu.Unlock()
		if sb.commands[id] == nil {
			sb.commands[id] = tombstone()
		}
		return nil
	}
	if err != nil {
		return err
	}
	c.interrupt(exit)
	return nil
}
