package relay

import (
	"context"
	"errors"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// ReadFile returns a piece of a file, or a page of a folder's entries.
func (s *Sandboxes) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	var answer wire.ReadResult
	body, _, err := s.ask(ctx, ref, wire.OpRead, wire.Read{Path: wire.Text(path), Offset: offset, Limit: limit, Guard: guard}, nil, &answer)
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
func (s *Sandboxes) WriteFile(ctx context.Context, ref berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	if size < 0 {
		return berth.FileInfo{}, berth.FieldErrorf(berth.CodeInvalid, "size", "must not be negative")
	}
	p := wire.Write{Path: wire.Text(path), Size: size, Mode: mode, Guard: guard}
	if size > filePiece {
		return s.put(ctx, ref, p, r)
	}
	data := make([]byte, size)
	if err := readExactly(r, data, true); err != nil {
		return berth.FileInfo{}, err
	}
	var file wire.File
	_, _, err := s.ask(ctx, ref, wire.OpWrite, p, data, &file)
	return file.Info(), err
}

// put sends a large file in pieces; it takes its place at the end.
func (s *Sandboxes) put(ctx context.Context, ref berth.SandboxRef, p wire.Write, r io.Reader) (berth.FileInfo, error) {
	var piece wire.Piece
	if _, _, err := s.ask(ctx, ref, wire.OpPut, p, nil, &piece); err != nil {
		return berth.FileInfo{}, err
	}
	buffer := make([]byte, filePiece)
	for left := p.Size; left > 0; left -= int64(len(buffer)) {
		buffer = buffer[:min(left, filePiece)]
		err := readExactly(r, buffer, left == int64(len(buffer)))
		if err == nil {
			_, _, err = s.ask(ctx, ref, wire.OpPutPiece, piece, buffer, nil)
		}
		if err != nil {
			piece.Abort = true
			// When this fails, the daemon gives the write up after a while.
			_, _, _ = s.ask(context.WithoutCancel(ctx), ref, wire.OpPutEnd, piece, nil, nil)
			return berth.FileInfo{}, err
		}
		piece.Offset += int64(len(buffer))
	}
	var file wire.File
	_, _, err := s.ask(ctx, ref, wire.OpPutEnd, piece, nil, &file)
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
func (s *Sandboxes) DeleteFile(ctx context.Context, ref berth.SandboxRef, path, guard string) error {
	_, again, err := s.ask(ctx, ref, wire.OpDelete, wire.Delete{Path: wire.Text(path), Guard: guard}, nil, nil)
	if again > 0 && berth.CodeOf(err) == berth.CodeNotFound {
		return nil // the answer that it is done was lost
	}
	return err
}

// Grep searches the contents of files.
func (s *Sandboxes) Grep(ctx context.Context, ref berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	var answer wire.GrepResult
	_, _, err := s.ask(ctx, ref, wire.OpGrep, wire.Grep{
		Pattern: wire.Text(q.Pattern), Path: wire.Text(q.Path), Glob: wire.Text(q.Glob), IgnoreCase: q.IgnoreCase, Limit: q.Limit, Guard: q.Guard,
	}, nil, &answer)
	result := berth.GrepResult{Matches: []berth.GrepMatch{}, Truncated: answer.Truncated}
	for _, m := range answer.Matches {
		result.Matches = append(result.Matches, berth.GrepMatch{Path: string(m.Path), Line: m.Line, Text: string(m.Text)})
	}
	return result, err
}

// Glob finds files by their path.
func (s *Sandboxes) Glob(ctx context.Context, ref berth.SandboxRef, q berth.GlobQuery) (berth.GlobResult, error) {
	var answer wire.GlobResult
	_, _, err := s.ask(ctx, ref, wire.OpGlob, wire.Glob{Pattern: wire.Text(q.Pattern), Path: wire.Text(q.Path), Limit: q.Limit}, nil, &answer)
	result := berth.GlobResult{Paths: []string{}, Truncated: answer.Truncated}
	result.Paths = append(result.Paths, wire.Strings(answer.Paths)...)
	return result, err
}
