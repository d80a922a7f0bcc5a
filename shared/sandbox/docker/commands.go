//go:build linux

package docker

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// hands are commands and files of sandboxes, wherever their agent is.
type hands interface {
	StartCommand(context.Context, berth.SandboxRef, berth.CommandSpec) error
	DescribeCommand(context.Context, berth.SandboxRef, berth.CommandID) (berth.CommandState, error)
	ReadOutput(context.Context, berth.SandboxRef, berth.CommandID, int64, int, time.Duration) (berth.Output, error)
	WriteInput(context.Context, berth.SandboxRef, berth.CommandID, int64, []byte, bool) (int64, error)
	Signal(context.Context, berth.SandboxRef, berth.CommandID, string) error
	Cancel(context.Context, berth.SandboxRef, berth.CommandID) error
	ReadFile(context.Context, berth.SandboxRef, string, int64, int64, string) (berth.FileData, error)
	WriteFile(context.Context, berth.SandboxRef, string, io.Reader, int64, uint32, string) (berth.FileInfo, error)
	DeleteFile(context.Context, berth.SandboxRef, string, string) error
	Grep(context.Context, berth.SandboxRef, berth.GrepQuery) (berth.GrepResult, error)
	Glob(context.Context, berth.SandboxRef, berth.GlobQuery) (berth.GlobResult, error)
	OpenStream(context.Context, berth.SandboxRef, berth.StreamSpec) (io.ReadWriteCloser, error)
}

// attachedBox is the sandbox of ref when its guest is its own agent, and that
// guest while it lives.
func (p *Provider) attachedBox(ref berth.SandboxRef) (*box, *guestProcess) {
	b, err := p.boxes.Find(ref.ID)
	if err != nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone || b.agent == nil || !b.meta.attached() {
		return nil, nil
	}
	return b, b.guest
}

// ask calls f with who answers for ref. Where a guest that was its own agent has
// ended, this process answers from the spool of the command id, if it is not
// empty: also when the guest ends in the middle of a question.
func ask[T any](ctx context.Context, p *Provider, ref berth.SandboxRef, id berth.CommandID, f func(hands) (T, error)) (T, error) {
	b, guest := p.attachedBox(ref)
	if b == nil {
		return f(p.near)
	}
	if guest != nil {
		answer, err := f(p.far)
		if _, now := p.attachedBox(ref); err == nil || now == guest || ctx.Err() != nil {
			return answer, err
		}
	}
	if id != "" {
		if err := b.fetchSpool(ctx, id); err != nil {
			var none T
			return none, err
		}
	}
	return f(p.near)
}

// do is ask for what has no result.
func (p *Provider) do(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, f func(hands) error) error {
	_, err := ask(ctx, p, ref, id, func(h hands) (struct{}, error) { return struct{}{}, f(h) })
	return err
}

// StartCommand starts a command, once however often it is called.
func (p *Provider) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	return p.do(ctx, ref, spec.ID, func(h hands) error { return h.StartCommand(ctx, ref, spec) })
}

// DescribeCommand answers from the command's spool.
func (p *Provider) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	return ask(ctx, p, ref, id, func(h hands) (berth.CommandState, error) { return h.DescribeCommand(ctx, ref, id) })
}

// ReadOutput reads from the command's spool.
func (p *Provider) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	return ask(ctx, p, ref, id, func(h hands) (berth.Output, error) { return h.ReadOutput(ctx, ref, id, offset, limit, wait) })
}

// WriteInput appends to a command's standard input.
func (p *Provider) WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	return ask(ctx, p, ref, id, func(h hands) (int64, error) { return h.WriteInput(ctx, ref, id, offset, data, eof) })
}

// Signal sends to a command's process group.
func (p *Provider) Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error {
	return p.do(ctx, ref, id, func(h hands) error { return h.Signal(ctx, ref, id, signal) })
}

// Cancel ends a command's process tree. While the sandbox does not run, it leaves
// a tombstone.
func (p *Provider) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	return p.do(ctx, ref, id, func(h hands) error {
		b, guest := p.attachedBox(ref)
		if b == nil || guest != nil {
			return h.Cancel(ctx, ref, id)
		}
		path := filepath.Join(b.spoolDir(), string(id))
		_, before := os.Stat(path)
		if err := h.Cancel(ctx, ref, id); err != nil {
			return err
		}
		if _, err := os.Stat(path); before != nil && err == nil {
			return b.pushSpool(ctx, id)
		}
		return nil
	})
}

// ReadFile reads a file or lists a folder of the workspace.
func (p *Provider) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	return ask(ctx, p, ref, "", func(h hands) (berth.FileData, error) { return h.ReadFile(ctx, ref, path, offset, limit, guard) })
}

// WriteFile replaces a file of the workspace.
func (p *Provider) WriteFile(ctx context.Context, ref berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	return ask(ctx, p, ref, "", func(h hands) (berth.FileInfo, error) { return h.WriteFile(ctx, ref, path, r, size, mode, guard) })
}

// DeleteFile removes a file of the workspace.
func (p *Provider) DeleteFile(ctx context.Context, ref berth.SandboxRef, path, guard string) error {
	return p.do(ctx, ref, "", func(h hands) error { return h.DeleteFile(ctx, ref, path, guard) })
}

// Grep searches the workspace.
func (p *Provider) Grep(ctx context.Context, ref berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	return ask(ctx, p, ref, "", func(h hands) (berth.GrepResult, error) { return h.Grep(ctx, ref, q) })
}

// Glob finds files of the workspace.
func (p *Provider) Glob(ctx context.Context, ref berth.SandboxRef, q berth.GlobQuery) (berth.GlobResult, error) {
	return ask(ctx, p, ref, "", func(h hands) (berth.GlobResult, error) { return h.Glob(ctx, ref, q) })
}
