//go:build linux

package hostagent

import (
	"context"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/client"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// asks is the way to the guest for what needs no descriptor.
func (s *Sandbox) asks() client.Ask { return s.askWith }

// ReadFile returns a piece of a file, or a page of a folder's entries.
func (s *Sandbox) ReadFile(ctx context.Context, path string, offset, limit int64, guard string) (berth.FileData, error) {
	return s.asks().ReadFile(ctx, path, offset, limit, guard)
}

// WriteFile replaces a file by size bytes of r.
func (s *Sandbox) WriteFile(ctx context.Context, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	return s.asks().WriteFile(ctx, wire.Write{Path: wire.Text(path), Size: size, Mode: mode, Guard: guard}, r, s.upload)
}

// upload is a large file on its way to the guest.
type upload struct {
	sandbox *Sandbox
	name    wire.Upload
}

func (s *Sandbox) upload(ctx context.Context, p wire.Write) (client.Transfer, error) {
	u := &upload{sandbox: s}
	return u, s.ask(ctx, wire.OpUpload, p, &u.name)
}

func (u *upload) Send(ctx context.Context, piece []byte) error {
	_, err := u.sandbox.askWith(ctx, wire.OpChunk, u.name, piece, nil)
	return err
}

func (u *upload) Commit(ctx context.Context) (file wire.File, err error) {
	err = u.sandbox.ask(ctx, wire.OpCommit, u.name, &file)
	return file, err
}

func (u *upload) Abort(ctx context.Context) {
	u.name.Abort = true
	_ = u.sandbox.ask(ctx, wire.OpCommit, u.name, nil) // the guest gives it up with the connection otherwise
}

// DeleteFile removes a file, a link or an empty folder.
func (s *Sandbox) DeleteFile(ctx context.Context, path, guard string) error {
	return s.asks().DeleteFile(ctx, path, guard)
}

// Grep searches the contents of files.
func (s *Sandbox) Grep(ctx context.Context, q berth.GrepQuery) (berth.GrepResult, error) {
	return s.asks().Grep(ctx, q)
}

// Glob finds files by their path.
func (s *Sandbox) Glob(ctx context.Context, q berth.GlobQuery) (berth.GlobResult, error) {
	return s.asks().Glob(ctx, q)
}
