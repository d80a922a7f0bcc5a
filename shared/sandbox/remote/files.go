package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

func (p *Provider) file(method string, ref berth.SandboxRef, path, guard string) (call, error) {
	if len(path) > maxPath {
		return call{}, berth.FieldErrorf(berth.CodeInvalid, "path", "is longer than any path may be")
	}
	return p.sandbox(method, ref, "files").param("path", path).param("guard", guard), nil
}

// maxPath is above what any system takes, and below what makes a request line
// that no server reads.
const maxPath = 16 << 10

// ReadFile reads a piece of a file or a page of a folder.
func (p *Provider) ReadFile(ctx context.Context, ref berth.SandboxRef, path string, offset, limit int64, guard string) (berth.FileData, error) {
	k, err := p.file(http.MethodGet, ref, path, guard)
	if err != nil {
		return berth.FileData{}, err
	}
	a, err := p.do(ctx, k.number("offset", offset).number("limit", limit))
	if err != nil {
		return berth.FileData{}, err
	}
	var info wire.File
	next, err := strconv.ParseInt(a.header.Get(agentapi.NextHeader), 10, 64)
	if err != nil || json.Unmarshal([]byte(a.header.Get(agentapi.FileHeader)), &info) != nil {
		return berth.FileData{}, p.foreign("without a file's description")
	}
	data := berth.FileData{Info: info.Info(), Next: next, EOF: a.header.Get(agentapi.EndHeader) == "true"}
	if data.Info.Kind != berth.FileDirectory {
		data.Data = a.body
		return data, nil
	}
	var list agentapi.Entries
	if err := p.decode(a, &list); err != nil {
		return berth.FileData{}, err
	}
	for _, entry := range list.Entries {
		data.Entries = append(data.Entries, entry.Info())
	}
	return data, nil
}

// WriteFile replaces a file by size bytes of r. A small one is sent again when
// the connection breaks; a large one is not, once any of it was read.
func (p *Provider) WriteFile(ctx context.Context, ref berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (berth.FileInfo, error) {
	if size < 0 {
		return berth.FileInfo{}, berth.FieldErrorf(berth.CodeInvalid, "size", "must not be negative")
	}
	k, err := p.file(http.MethodPut, ref, path, guard)
	if err != nil {
		return berth.FileInfo{}, err
	}
	k = k.number("mode", int64(mode)).param("size", strconv.FormatInt(size, 10)).bytes(nil)
	k.stream = newStream(r, size)
	if size <= smallFile {
		data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
		_, _ = data.ReadFrom(k.stream) // whose end tells of its faults
		if fault, _ := k.stream.end(); fault != nil {
			return berth.FileInfo{}, fault
		}
		k.stream, k.body = nil, data.Bytes()
	}
	var file wire.File
	err = p.exchange(ctx, k, nil, &file)
	return file.Info(), err
}

// smallFile is what is held in memory to be sent again, in bytes.
const smallFile = 1 << 20

// DeleteFile removes a file, a link or an empty folder.
func (p *Provider) DeleteFile(ctx context.Context, ref berth.SandboxRef, path, guard string) error {
	k, err := p.file(http.MethodDelete, ref, path, guard)
	if err != nil {
		return err
	}
	return p.exchange(ctx, k, nil, nil)
}

// Grep searches the contents of files.
func (p *Provider) Grep(ctx context.Context, ref berth.SandboxRef, q berth.GrepQuery) (berth.GrepResult, error) {
	var found agentapi.GrepResult
	err := p.exchange(ctx, p.sandbox(http.MethodPost, ref, "grep"), agentapi.GrepOf(q), &found)
	result := berth.GrepResult{Matches: []berth.GrepMatch{}, Truncated: found.Truncated}
	for _, m := range found.Matches {
		result.Matches = append(result.Matches, berth.GrepMatch{Path: string(m.Path), Line: m.Line, Text: string(m.Text)})
	}
	return result, err
}

// Glob finds files by their path.
func (p *Provider) Glob(ctx context.Context, ref berth.SandboxRef, q berth.GlobQuery) (berth.GlobResult, error) {
	var found agentapi.GlobResult
	in := agentapi.Glob{Pattern: wire.Text(q.Pattern), Path: wire.Text(q.Path), Limit: q.Limit}
	err := p.exchange(ctx, p.sandbox(http.MethodPost, ref, "glob"), in, &found)
	return berth.GlobResult{Paths: append([]string{}, wire.Strings(found.Paths)...), Truncated: found.Truncated}, err
}
