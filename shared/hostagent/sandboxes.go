//go:build linux

package hostagent

import (
	"context"
	"io"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Sandboxes is the part of a provider that its agents do: commands and files.
// Providers embed it.
type Sandboxes struct {
	// Find returns what answers for a sandbox, not_found when nothing does.
	Find func(berth.SandboxRef) (*Sandbox, error)
}

// StartCommand starts a command, once however often it is called.
func (p Sandboxes) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	a, err := p.Find(ref)
	if err != nil {
		return err
	}
	return a.StartCommand(ctx, spec)
}

// DescribeCommand answers from the command's spool.
func (p Sandboxes) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	a, err := p.Find(ref)
	if err != nil {
		return berth.CommandState{}, err
	}
	return a.DescribeCommand(ctx, id)
}

// ReadOutput reads from the command's spool.
func (p Sandboxes) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	a, err := p.Find(ref)
	if err != nil {
		return berth.Output{}, err
	}
	return a.ReadOutput(ctx, id, offset, limit, wait)
}

// WriteInput appends to a command's standard input.
func (p Sandboxes) WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	a, err := p.Find(ref)
	if err != nil {
		return offset, err
	}
	return a.WriteInput(ctx, id, offset, data, eof)
}

// Signal sends to a command's process group.
func (p Sandboxes) Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error {
	a, err := p.Find(ref)
	if err != nil {
		return err
	}
	return a.Signal(ctx, id, signal)
}

// Cancel ends a command's process tree.
func (p Sandboxes) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	a, err := p.Find(ref)
	if err != nil {
		return err
	}
	return a.Cancel(ctx, id)
}

// ReadFile reads a file or lists a folder of the workspace.
func (p Sandboxes) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	a, err := p.Find(ref)
	if err != nil {
		return berth.FileData{}, err
	}
	return a.ReadFile(ctx, path, offset, limit, guard)
}

// WriteFile replaces a file of the workspace.
func (p Sandboxes) WriteFile(ctx context.Context, ref berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	a, err := p.Find(ref)
	if err != nil {
		return berth.FileInfo{}, err
	}
	return a.WriteFile(ctx, path, r, size, mode, guard)
}

// DeleteFile removes a file of the workspace.
func (p Sandboxes) DeleteFile(ctx context.Context, ref berth.SandboxRef, path, guard string) error {
	a, err := p.Find(ref)
	if err != nil {
		return err
	}
	return a.DeleteFile(ctx, path, guard)
}

// Grep searches the workspace.
func (p Sandboxes) Grep(ctx context.Context, ref berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	a, err := p.Find(ref)
	if err != nil {
		return berth.GrepResult{}, err
	}
	return a.Grep(ctx, q)
}

// Glob finds files of the workspace.
func (p Sandboxes) Glob(ctx context.Context, ref berth.SandboxRef, q berth.GlobQuery) (berth.GlobResult, error) {
	a, err := p.Find(ref)
	if err != nil {
		return berth.GlobResult{}, err
	}
	return a.Glob(ctx, q)
}
