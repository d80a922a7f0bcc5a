//go:build linux

package hostagent

import (
	"context"
	"errors"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// ReadFile returns a piece of a file, or a page of a folder's entries.
func (s *Sandbox) ReadFile(ctx context.Context, path string, offset, limit int64, guard string) (berth.FileData, error) {
	var answer wire.ReadResult
	body, err := s.askWith(ctx, wire.OpRead, wire.Read{Path: wire.Text(path), Offset: offset, Limit: limit, Guard: guard}, nil, &answer)
	if err != nil {
		return berth.FileData{}, err
	}
	data := berth.FileData{Info: answer.File.Info(), Data: body, Next: answer.Next, EOF: answer.EOF}
	for _, entry := range answer.Entries {
		data.Entries = append(data.Entries, entry.Info())
	}
	return data, nil
}

// filePiece is how much of a file is sent at once.
const filePiece = 1 << 20

// WriteFile replaces a file by size bytes of r.
func (s *Sandbox) WriteFile(ctx context.Context, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	if size < 0 {
		return berth.FileInfo{}, berth.FieldErrorf(berth.CodeInvalid, "size", "must not be negative")
	}
	p := wire.Write{Path: wire.Text(path), Size: size, Mode: mode, Guard: guard}
	if size > filePiece {
		return s.upload(ctx, p, r)
	}
	data := make([]byte, size)
	if err := readExactly(r, data, true); err != nil {
		return berth.FileInfo{}, err
	}
	var file wire.File
	_, err := s.askWith(ctx, wire.OpWrite, p, data, &file)
	return file.Info(), err
}

// upload sends a large file in pieces; it takes its place at the end.
func (s *Sandbox) upload(ctx context.Context, p wire.Write, r io.Reader) (berth.FileInfo, error) {
	var u wire.Upload
	if err := s.ask(ctx, wire.OpUpload, p, &u); err != nil {
		return berth.FileInfo{}, err
	}
	piece := make([]byte, filePiece)
	for left := p.Size; left > 0; left -= int64(len(piece)) {
		piece = piece[:min(left, filePiece)]
		err := readExactly(r, piece, left == int64(len(piece)))
		if err == nil {
			_, err = s.askWith(ctx, wire.OpChunk, u, piece, nil)
		}
		if err != nil {
			u.Abort = true
			// When this fails, the guest gives up the upload with the connection.
			_ = s.ask(context.WithoutCancel(ctx), wire.OpCommit, u, nil)
			return berth.FileInfo{}, err
		}
	}
	var file wire.File
	err := s.ask(ctx, wire.OpCommit, u, &file)
	return file.Info(), err
}

// readExactly fills data, and makes sure that r has no more when this is the last.
func readExactly(r io.Reader, data []byte, last bool) error {
	n, err := io.ReadFull(r, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return berth.FieldErrorf(berth.CodeInvalid, "size", "is more than what came: %d bytes are missing", len(data)-n)
	}
	if err != nil {
		return berth.Wrap(err, "reading what is to be written")
	}
	if last {
		var more [1]byte
		if n, _ := io.ReadFull(r, more[:]); n > 0 {
			return berth.FieldErrorf(berth.CodeInvalid, "size", "is less than what came")
		}
	}
	return nil
}

// DeleteFile removes a file, a link or an empty folder.
func (s *Sandbox) DeleteFile(ctx context.Context, path, guard string) error {
	return s.ask(ctx, wire.OpDelete, wire.Delete{Path: wire.Text(path), Guard: guard}, nil)
}

// Grep searches the contents of files.
func (s *Sandbox) Grep(ctx context.Context, q berth.GrepQuery) (berth.GrepResult, error) {
	var answer wire.GrepResult
	err := s.ask(ctx, wire.OpGrep, wire.Grep{
		Pattern: wire.Text(q.Pattern), Path: wire.Text(q.Path), Glob: wire.Text(q.Glob), IgnoreCase: q.IgnoreCase, Limit: q.Limit, Guard: q.Guard,
	}, &answer)
	result := berth.GrepResult{Matches: []berth.GrepMatch{}, Truncated: answer.Truncated}
	for _, m := range answer.Matches {
		result.Matches = append(result.Matches, berth.GrepMatch{Path: string(m.Path), Line: m.Line, Text: string(m.Text)})
	}
	return result, err
}

// Glob finds files by their path.
func (s *Sandbox) Glob(ctx context.Context, q berth.GlobQuery) (berth.GlobResult, error) {
	var answer wire.GlobResult
	err := s.ask(ctx, wire.OpGlob, wire.Glob{Pattern: wire.Text(q.Pattern), Path: wire.Text(q.Path), Limit: q.Limit}, &answer)
	result := berth.GlobResult{Paths: []string{}, Truncated: answer.Truncated}
	result.Paths = append(result.Paths, wire.Strings(answer.Paths)...)
	return result, err
}
