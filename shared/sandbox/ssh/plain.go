package ssh

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/ssh/plain"
)

// commands is the half of a provider that a sandbox's own kind does: by its
// guest, or by plain commands where its host holds none.
type commands interface {
	StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error
	DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error)
	ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error)
	WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error)
	Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error
	Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error
	berth.Files

	Describe(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error)
	Stop(ctx context.Context, ref berth.SandboxRef) error
	Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error)
	Destroy(ctx context.Context, ref berth.SandboxRef) error
}

var (
	_ commands = (*relay.Sandboxes)(nil)
	_ commands = plain.Sandboxes{}
)

// holdsNoGuest reports whether err says that the host can hold no guest.
func holdsNoGuest(err error) bool { return errors.Is(err, relay.ErrNoGuest) }

// of is what does the work of a sandbox.
func (p *Provider) of(ctx context.Context, ref berth.SandboxRef) (commands, error) {
	h, err := p.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if h.plain {
		return p.plain, nil
	}
	return p.guests, nil
}

// StartCommand starts a command, once however often it is called.
func (p *Provider) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	c, err := p.of(ctx, ref)
	if err != nil {
		return err
	}
	return c.StartCommand(ctx, ref, spec)
}

// DescribeCommand answers from the command's spool.
func (p *Provider) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	c, err := p.of(ctx, ref)
	if err != nil {
		return berth.CommandState{}, err
	}
	return c.DescribeCommand(ctx, ref, id)
}

// ReadOutput returns whole frames from offset and waits for them up to wait.
func (p *Provider) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	c, err := p.of(ctx, ref)
	if err != nil {
		return berth.Output{}, err
	}
	return c.ReadOutput(ctx, ref, id, offset, limit, wait)
}

// WriteInput appends to a command's standard input.
func (p *Provider) WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	c, err := p.of(ctx, ref)
	if err != nil {
		return offset, err
	}
	return c.WriteInput(ctx, ref, id, offset, data, eof)
}

// Signal sends to a command's process group.
func (p *Provider) Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error {
	c, err := p.of(ctx, ref)
	if err != nil {
		return err
	}
	return c.Signal(ctx, ref, id, signal)
}

// Cancel ends a command's process tree.
func (p *Provider) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	c, err := p.of(ctx, ref)
	if err != nil {
		return err
	}
	return c.Cancel(ctx, ref, id)
}

// ReadFile reads a file or lists a folder of the workspace.
func (p *Provider) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	c, err := p.of(ctx, ref)
	if err != nil {
		return berth.FileData{}, err
	}
	return c.ReadFile(ctx, ref, path, offset, limit, guard)
}

// WriteFile replaces a file of the workspace.
func (p *Provider) WriteFile(ctx context.Context, ref berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	c, err := p.of(ctx, ref)
	if err != nil {
		return berth.FileInfo{}, err
	}
	return c.WriteFile(ctx, ref, path, r, size, mode, guard)
}

// DeleteFile removes a file of the workspace.
func (p *Provider) DeleteFile(ctx context.Context, ref berth.SandboxRef, path, guard string) error {
	c, err := p.of(ctx, ref)
	if err != nil {
		return err
	}
	return c.DeleteFile(ctx, ref, path, guard)
}

// Grep searches the workspace.
func (p *Provider) Grep(ctx context.Context, ref berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	c, err := p.of(ctx, ref)
	if err != nil {
		return berth.GrepResult{}, err
	}
	return c.Grep(ctx, ref, q)
}

// Glob finds files of the workspace.
func (p *Provider) Glob(ctx context.Context, ref berth.SandboxRef, q berth.GlobQuery) (berth.GlobResult, error) {
	c, err := p.of(ctx, ref)
	if err != nil {
		return berth.GlobResult{}, err
	}
	return c.Glob(ctx, ref, q)
}

// Stop ends all commands and keeps the files.
func (p *Provider) Stop(ctx context.Context, ref berth.SandboxRef) error {
	c, err := p.of(ctx, ref)
	if err != nil {
		return err
	}
	return c.Stop(ctx, ref)
}

// OpenStream opens a stream into the sandbox. Error: unsupported on a host that
// holds no guest.
func (p *Provider) OpenStream(ctx context.Context, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	h, err := p.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if h.plain {
		return nil, &berth.Error{
			Code: berth.CodeUnsupported, Message: "streams need the guest, which does not run on this host", Remediation: "Use ssh itself: " + h.hint("."),
		}
	}
	return p.guests.OpenStream(ctx, ref, spec)
}
