package daytona

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// Plain does what a guest does, as well as it can, by a shell alone: for
// sandboxes in which the guest does not run. It is given to the provider by who
// wires it.
type Plain interface {
	work
	Provision(ctx context.Context, ref berth.SandboxRef, run berth.RunID, dir string) (berth.SandboxState, error)
	Start(ctx context.Context, ref berth.SandboxRef) (berth.SandboxState, error)
	Stop(ctx context.Context, ref berth.SandboxRef) error
}

// work is the commands and files half of a provider.
type work interface {
	StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error
	DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error)
	ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error)
	WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error)
	Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error
	Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error
	berth.Files
}

// noGuest is the label's value for a sandbox without one, and plainDetail how its
// state is marked.
const (
	noGuest     = "none"
	plainDetail = "without a guest: plain commands"
)

// shellOf is the shell of a sandbox that is ready or about to be.
func (p *Provider) shellOf(ctx context.Context, ref berth.SandboxRef) (relay.Shell, error) {
	l, err := p.way(ctx, ref, false)
	if err != nil {
		return nil, err
	}
	return shell{toolbox: l.toolbox, folder: l.folder(), clock: p.config.Clock, begin: p.config.Pace.Dial}, nil
}

// isUnable reports whether err says that the guest does not run in a sandbox for
// which there is another way.
func (p *Provider) isUnable(err error) bool {
	var u *unable
	return p.plain != nil && errors.As(err, &u)
}

// equipPlain makes a started sandbox ready for plain commands.
func (p *Provider) equipPlain(ctx context.Context, ref berth.SandboxRef, run berth.RunID, l *live, resume bool) (*live, error) {
	l.guest = noGuest
	p.box(ref.ID).setLive(l)
	var state berth.SandboxState
	var err error
	if resume {
		state, err = p.plain.Start(ctx, ref)
	} else {
		state, err = p.plain.Provision(ctx, ref, run, l.workspace)
	}
	if err == nil {
		err = checkGuest(state)
	}
	if err == nil {
		err = p.label(ctx, l)
	}
	if err != nil {
		p.box(ref.ID).setLive(nil)
		return nil, err
	}
	return l, nil
}

// unable is an unfit sandbox that may be of use without a guest.
type unable struct{ *unfit }

func (u *unable) Unwrap() error { return u.unfit }

func unablef(remediation, message string) error {
	return &unable{&unfit{&berth.Reason{Code: berth.ReasonProvisionFailed, Message: message, Remediation: remediation}}}
}

// doer is who does the work of a sandbox: its guest, or plain commands.
func (p *Provider) doer(ctx context.Context, ref berth.SandboxRef) work {
	if p.isPlainNow(ctx, ref) {
		return p.plain
	}
	return p.Sandboxes
}

// isPlainNow reports whether a sandbox has no guest. What is wrong with the way to
// it is told by the guest's side, which tries again.
func (p *Provider) isPlainNow(ctx context.Context, ref berth.SandboxRef) bool {
	if p.plain == nil {
		return false
	}
	l, err := p.way(ctx, ref, false)
	return err == nil && l.guest == noGuest
}

// StartCommand starts a command, once however often it is called.
func (p *Provider) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	return p.doer(ctx, ref).StartCommand(ctx, ref, spec)
}

// DescribeCommand answers from the command's spool.
func (p *Provider) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	return p.doer(ctx, ref).DescribeCommand(ctx, ref, id)
}

// WriteInput appends to a command's standard input.
func (p *Provider) WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	return p.doer(ctx, ref).WriteInput(ctx, ref, id, offset, data, eof)
}

// Signal sends to a command's process group.
func (p *Provider) Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error {
	return p.doer(ctx, ref).Signal(ctx, ref, id, signal)
}

// Cancel ends a command's process tree.
func (p *Provider) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	return p.doer(ctx, ref).Cancel(ctx, ref, id)
}

// ReadFile returns a piece of a file, or a page of a folder's entries.
func (p *Provider) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	return p.doer(ctx, ref).ReadFile(ctx, ref, path, offset, limit, guard)
}

// WriteFile replaces a file by size bytes of r.
func (p *Provider) WriteFile(ctx context.Context, ref berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	return p.doer(ctx, ref).WriteFile(ctx, ref, path, r, size, mode, guard)
}

// DeleteFile removes a file, a link or an empty folder.
func (p *Provider) DeleteFile(ctx context.Context, ref berth.SandboxRef, path, guard string) error {
	return p.doer(ctx, ref).DeleteFile(ctx, ref, path, guard)
}

// Grep searches the contents of files.
func (p *Provider) Grep(ctx context.Context, ref berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	return p.doer(ctx, ref).Grep(ctx, ref, q)
}

// Glob finds files by their names.
func (p *Provider) Glob(ctx context.Context, ref berth.SandboxRef, q berth.GlobQuery) (berth.GlobResult, error) {
	return p.doer(ctx, ref).Glob(ctx, ref, q)
}

// isPlain reports whether a sandbox is labelled as one without a guest.
func isPlain(s daytonaapi.Sandbox) bool { return s.Labels[labelGuest] == noGuest }
