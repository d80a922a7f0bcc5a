package relay

import (
	"context"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/client"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// asks is the way to the guest of ref.
func (s *Sandboxes) asks(ref berth.SandboxRef) client.Ask {
	return func(ctx context.Context, op wire.Op, params any, body []byte, result any) ([]byte, error) {
		data, _, err := s.ask(ctx, ref, op, params, body, result)
		return data, err
	}
}

// ReadFile returns a piece of a file, or a page of a folder's entries.
func (s *Sandboxes) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	return s.asks(ref).ReadFile(ctx, path, offset, limit, guard)
}

// WriteFile replaces a file by size bytes of r.
func (s *Sandboxes) WriteFile(ctx context.Context, ref berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	ask := s.asks(ref)
	return ask.WriteFile(ctx, wire.Write{Path: wire.Text(path), Size: size, Mode: mode, Guard: guard}, r, func(ctx context.Context, p wire.Write) (client.Transfer, error) {
		t := &put{ask: ask}
		_, err := ask(ctx, wire.OpPut, p, nil, &t.at)
		return t, err
	})
}

// put is a large file on its way to the daemon, over any number of connections.
type put struct {
	ask client.Ask
	at  wire.Piece
}

func (t *put) Send(ctx context.Context, piece []byte) error {
	_, err := t.ask(ctx, wire.OpPutPiece, t.at, piece, nil)
	t.at.Offset += int64(len(piece))
	return err
}

func (t *put) Commit(ctx context.Context) (file wire.File, err error) {
	_, err = t.ask(ctx, wire.OpPutEnd, t.at, nil, &file)
	return file, err
}

func (t *put) Abort(ctx context.Context) {
	t.at.Abort = true
	_, _ = t.ask(ctx, wire.OpPutEnd, t.at, nil, nil) // the daemon gives it up after a while otherwise
}

// DeleteFile removes a file, a link or an empty folder.
func (s *Sandboxes) DeleteFile(ctx context.Context, ref berth.SandboxRef, path, guard string) error {
	_, again, err := s.ask(ctx, ref, wire.OpDelete, wire.Delete{Path: wire.Text(path), Guard: guard}, nil, nil)
	if again > 0 && berth.CodeOf(err) == berth.CodeNotFound {
		return nil // the answer that it is done was lost
	}
	return err
}

// Grep searches the contents of files.
func (s *Sandboxes) Grep(ctx context.Context, ref berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	return s.asks(ref).Grep(ctx, q)
}

// Glob finds files by their path.
func (s *Sandboxes) Glob(ctx context.Context, ref berth.SandboxRef, q berth.GlobQuery) (berth.GlobResult, error) {
	return s.asks(ref).Glob(ctx, q)
}
