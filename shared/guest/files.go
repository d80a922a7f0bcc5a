//go:build linux

package guest

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/guest/workspace"
)

// doFiles answers one request about files.
func (s *session) doFiles(ctx context.Context, m *wire.Message) (result any, body []byte, err error) {
	files := s.guest.files
	switch m.Op {
	case wire.OpRead:
		p, err := decode[wire.Read](m)
		if err != nil {
			return nil, nil, err
		}
		data, err := files.Read(string(p.Path), p.Offset, p.Limit, p.Guard)
		answer := wire.ReadResult{File: wire.FileOf(data.Info), Next: data.Next, EOF: data.EOF}
		for _, entry := range data.Entries {
			answer.Entries = append(answer.Entries, wire.FileOf(entry))
		}
		return answer, data.Data, err
	case wire.OpWrite, wire.OpUpload:
		return s.write(m)
	case wire.OpChunk, wire.OpCommit:
		return s.goOnWriting(m)
	case wire.OpDelete:
		p, err := decode[wire.Delete](m)
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, files.Delete(string(p.Path), p.Guard)
	case wire.OpGrep:
		p, err := decode[wire.Grep](m)
		if err != nil {
			return nil, nil, err
		}
		found, err := files.Grep(ctx, berth.GrepQuery{
			Pattern: string(p.Pattern), Path: string(p.Path), Glob: string(p.Glob), IgnoreCase: p.IgnoreCase, Limit: p.Limit, Guard: p.Guard,
		})
		answer := wire.GrepResult{Truncated: found.Truncated}
		for _, match := range found.Matches {
			answer.Matches = append(answer.Matches, wire.GrepMatch{Path: wire.Text(match.Path), Line: match.Line, Text: wire.Text(match.Text)})
		}
		return answer, nil, err
	case wire.OpGlob:
		p, err := decode[wire.Glob](m)
		if err != nil {
			return nil, nil, err
		}
		found, err := files.Glob(ctx, berth.GlobQuery{Pattern: string(p.Pattern), Path: string(p.Path), Limit: p.Limit})
		return wire.GlobResult{Paths: wire.Texts(found.Paths), Truncated: found.Truncated}, nil, err
	}
	return nil, nil, berth.Errorf(berth.CodeUnsupported, "the guest does not know %q", m.Op)
}

// write writes a small file, or begins to write a large one.
func (s *session) write(m *wire.Message) (any, []byte, error) {
	p, err := decode[wire.Write](m)
	if err != nil {
		return nil, nil, err
	}
	u, err := s.guest.files.Create(workspace.WriteSpec{Path: string(p.Path), Size: p.Size, Mode: p.Mode, Guard: p.Guard})
	if err != nil {
		return nil, nil, err
	}
	if m.Op == wire.OpUpload {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lastUpload++
		s.uploads[s.lastUpload] = &upload{Upload: u}
		return wire.Upload{Upload: s.lastUpload}, nil, nil
	}
	if err := u.Write(m.Body); err != nil {
		u.Abort()
		return nil, nil, err
	}
	info, err := u.Commit()
	return wire.FileOf(info), nil, err
}

// goOnWriting appends to an upload, ends it, or gives it up.
func (s *session) goOnWriting(m *wire.Message) (any, []byte, error) {
	p, err := decode[wire.Upload](m)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	u := s.uploads[p.Upload]
	if m.Op == wire.OpCommit {
		delete(s.uploads, p.Upload)
	}
	s.mu.Unlock()
	if u == nil {
		return nil, nil, berth.Errorf(berth.CodeUnavailable, "the upload was interrupted")
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case m.Op == wire.OpChunk:
		return nil, nil, u.Write(m.Body)
	case p.Abort:
		u.Abort()
		return nil, nil, nil
	}
	info, err := u.Commit()
	return wire.FileOf(info), nil, err
}
