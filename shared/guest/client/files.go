package client

import (
	"context"
	"errors"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// ReadFile returns a piece of a file, or a page of a folder's entries.
func (ask Ask) ReadFile(ctx context.Context, path string, offset, limit int64, guard string) (berth.FileData, error) {
	var answer wire.ReadResult
	body, err := ask(ctx, wire.OpRead, wire.Read{Path: wire.Text(path), Offset: offset, Limit: limit, Guard: guard}, nil, &answer)
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

// Transfer is a large file under way. It takes its place at the end.
type Transfer interface {
	Send(ctx context.Context, piece []byte) error
	// Commit is the end of one that is whole, and Abort of one that is not.
	Commit(ctx context.Context) (wire.File, error)
	Abort(ctx context.Context)
}

// WriteFile replaces a file by size bytes of r. A large one goes in pieces, by what
// begin makes. Error: invalid when r has another size.
func (ask Ask) WriteFile(ctx context.Context, p wire.Write, r io.Reader, begin func(context.Context, wire.Write) (Transfer, error)) (berth.FileInfo, error) {
	if p.Size < 0 {
		return berth.FileInfo{}, berth.FieldErrorf(berth.CodeInvalid, "size", "must not be negative")
	}
	if p.Size > filePiece {
		return writeLarge(ctx, p, r, begin)
	}
	data := make([]byte, p.Size)
	if err := readExactly(r, data, true); err != nil {
		return berth.FileInfo{}, err
	}
	var file wire.File
	_, err := ask(ctx, wire.OpWrite, p, data, &file)
	return file.Info(), err
}

func writeLarge(ctx context.Context, p wire.Write, r io.Reader, begin func(context.Context, wire.Write) (Transfer, error)) (berth.FileInfo, error) {
	t, err := begin(ctx, p)
	if err != nil {
		return berth.FileInfo{}, err
	}
	piece := make([]byte, filePiece)
	for left := p.Size; left > 0; left -= int64(len(piece)) {
		piece = piece[:min(left, filePiece)]
		err := readExactly(r, piece, left == int64(len(piece)))
		if err == nil {
			err = t.Send(ctx, piece)
		}
		if err != nil {
			t.Abort(context.WithoutCancel(ctx))
			return berth.FileInfo{}, err
		}
	}
	file, err := t.Commit(ctx)
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
func (ask Ask) DeleteFile(ctx context.Context, path, guard string) error {
	_, err := ask(ctx, wire.OpDelete, wire.Delete{Path: wire.Text(path), Guard: guard}, nil, nil)
	return err
}

// Grep searches the contents of files.
func (ask Ask) Grep(ctx context.Context, q berth.GrepQuery) (berth.GrepResult, error) {
	var answer wire.GrepResult
	_, err := ask(ctx, wire.OpGrep, wire.Grep{
		Pattern: wire.Text(q.Pattern), Path: wire.Text(q.Path), Glob: wire.Text(q.Glob), IgnoreCase: q.IgnoreCase, Limit: q.Limit, Guard: q.Guard,
	}, nil, &answer)
	result := berth.GrepResult{Matches: []berth.GrepMatch{}, Truncated: answer.Truncated}
	for _, m := range answer.Matches {
		result.Matches = append(result.Matches, berth.GrepMatch{Path: string(m.Path), Line: m.Line, Text: string(m.Text)})
	}
	return result, err
}

// Glob finds files by their path.
func (ask Ask) Glob(ctx context.Context, q berth.GlobQuery) (berth.GlobResult, error) {
	var answer wire.GlobResult
	_, err := ask(ctx, wire.OpGlob, wire.Glob{Pattern: wire.Text(q.Pattern), Path: wire.Text(q.Path), Limit: q.Limit}, nil, &answer)
	result := berth.GlobResult{Paths: []string{}, Truncated: answer.Truncated}
	result.Paths = append(result.Paths, wire.Strings(answer.Paths)...)
	return result, err
}
