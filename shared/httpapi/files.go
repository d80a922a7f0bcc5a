package httpapi

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
)

// FileParams name a file.
type FileParams struct {
	SandboxParams
	Path  string `query:"path" required:"true" doc:"Relative to the workspace, or absolute within it" example:"src/main.go"`
	Guard string `query:"guard" doc:"Read-before-write under this name: what it has not read, or what changed since, may not be replaced or deleted" example:"agent-1"`
}

func (in FileParams) check(f *faults) {
	checkPath(f, "query.path", in.Path)
	checkGuard(f, "query.guard", in.Guard)
}

const (
	maxPath  = 4096
	maxGuard = 128
)

func checkPath(f *faults, location, path string) {
	switch {
	case path == "":
		f.addf(location, "is missing")
	case len(path) > maxPath:
		f.addf(location, "is longer than %d bytes", maxPath)
	case strings.ContainsRune(path, 0):
		f.addf(location, "holds a NUL byte")
	}
}

func checkGuard(f *faults, location, guard string) {
	if len(guard) > maxGuard || strings.ContainsFunc(guard, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		f.addf(location, "must be at most %d characters, none of them a control character", maxGuard)
	}
}

// files finds the provider of a sandbox that can serve files now. Errors: those
// of sandbox, conflict naming the state it is in.
func (a *API) files(ctx context.Context, in SandboxParams) (berth.Provider, berth.SandboxRef, error) {
	sb, err := a.sandbox(ctx, in)
	if err != nil {
		return nil, berth.SandboxRef{}, err
	}
	if sb.Status != berth.SandboxReady {
		e := berth.Errorf(berth.CodeConflict, "sandbox %s is %s: only a ready one serves files", sb.ID, sb.Status)
		if sb.Status == berth.SandboxStopped {
			e.Remediation = "Start it first: POST " + Prefix + "/sandboxes/" + string(sb.ID) + "/start."
		}
		return nil, berth.SandboxRef{}, e
	}
	provider, err := a.cfg.Plane.Provider(sb.Provider)
	return provider, berth.RefOf(sb), err
}

func fileOperations() []operation {
	conflict := []berth.Code{berth.CodeConflict, berth.CodeUnsupported}
	return []operation{
		op("read-file", spec{
			summary: "Read a file, or list a folder",
			description: "At most limit bytes from offset on. With `Accept: application/octet-stream` the bytes come as they are, " +
				"and next_offset and eof as the headers Berth-Next-Offset and Berth-Eof.",
			codes: conflict, gives: berth.FileData{}, media: map[string]string{mediaBytes: "The bytes as they are"},
			headers: map[string]string{"Berth-Next-Offset": "With bytes: the offset behind them", "Berth-Eof": "With bytes: whether the file ends there"},
		}, (*API).readFile),
		op("write-file", spec{
			summary: "Write a file", description: "Replaces it as a whole and makes its parent folders. Up to 4 MiB; larger files go through transfers.",
			codes: conflict,
		}, (*API).writeFile),
		op("delete-file", spec{summary: "Delete a file", codes: conflict}, (*API).deleteFile),
		op("grep-files", spec{
			summary: "Search file contents", takes: berth.GrepQuery{}, example: berth.GrepQuery{Pattern: "func (Test|Fuzz)", Glob: "**/*.go"}, codes: conflict,
		}, (*API).grepFiles),
		op("glob-files", spec{
			summary: "Find files by name", takes: berth.GlobQuery{}, example: berth.GlobQuery{Pattern: "**/*_test.go"}, codes: conflict,
		}, (*API).globFiles),
	}
}

type readFileInput struct {
	FileParams
	Offset string `query:"offset" doc:"next_offset of the piece before; 0 unless given" example:"0"`
	Limit  string `query:"limit" maximum:"1048576" doc:"Most bytes, up to 1048576; 1048576 unless given" example:"65536"`
	Accept string `header:"Accept" hidden:"true"`
}

// fileReply is berth.FileData, or the bytes alone.
type fileReply struct{ Body func(huma.Context) }

func (a *API) readFile(ctx context.Context, in *readFileInput) (*fileReply, error) {
	var f faults
	in.check(&f)
	from, err := offset(in.Offset)
	f.add("query.offset", err)
	limit, err := number("query.limit", in.Limit, berth.MaxOutputRead, 1, berth.MaxOutputRead)
	f.add("query.limit", err)
	if err := f.err(); err != nil {
		return nil, err
	}
	provider, ref, err := a.files(ctx, in.SandboxParams)
	if err != nil {
		return nil, err
	}
	data, err := provider.ReadFile(ctx, ref, in.Path, from, limit, in.Guard)
	if err != nil {
		return nil, inQuery(err)
	}
	if data.Data == nil {
		data.Data = []byte{} // a folder
	}
	raw := accepts(in.Accept, mediaBytes)
	if raw && data.Info.Kind != berth.FileRegular {
		return nil, berth.FieldErrorf(berth.CodeInvalid, "query.path", "is no file: its bytes cannot be sent")
	}
	return &fileReply{func(hc huma.Context) {
		x := exchangeOf(hc.Context())
		if !raw {
			x.replyJSON(data)
			return
		}
		h := x.Header()
		h.Set("Content-Type", mediaBytes)
		h.Set("Content-Length", strconv.Itoa(len(data.Data)))
		h.Set("Berth-Next-Offset", strconv.FormatInt(data.Next, 10))
		h.Set("Berth-Eof", strconv.FormatBool(data.EOF))
		_, _ = x.Write(data.Data) // the client has gone
	}}, nil
}

type writeFileInput struct {
	FileParams
	Mode string `query:"mode" doc:"Permission bits in octal; 0644 unless given" example:"0755"`
}

func (a *API) writeFile(ctx context.Context, in *writeFileInput) (*body[berth.FileInfo], error) {
	var f faults
	in.check(&f)
	mode, err := octal("query.mode", in.Mode)
	f.add("query.mode", err)
	if err := f.err(); err != nil {
		return nil, err
	}
	data, err := readBody(ctx)
	if err != nil {
		return nil, err
	}
	provider, ref, err := a.files(ctx, in.SandboxParams)
	if err != nil {
		return nil, err
	}
	info, err := provider.WriteFile(ctx, ref, in.Path, bytes.NewReader(data), int64(len(data)), mode, in.Guard)
	return &body[berth.FileInfo]{info}, inQuery(err)
}

func (a *API) deleteFile(ctx context.Context, in *FileParams) (*empty, error) {
	var f faults
	in.check(&f)
	if err := f.err(); err != nil {
		return nil, err
	}
	provider, ref, err := a.files(ctx, in.SandboxParams)
	if err != nil {
		return nil, err
	}
	return nil, inQuery(provider.DeleteFile(ctx, ref, in.Path, in.Guard))
}

// maxMatches is the most matches or paths of one answer.
const maxMatches = 1000

func checkMatches(f *faults, pattern string, limit int) {
	if pattern == "" {
		f.addf("pattern", "is missing")
	}
	if limit < 0 || limit > maxMatches {
		f.addf("limit", "must be a whole number from 1 to %d", maxMatches)
	}
}

func (a *API) grepFiles(ctx context.Context, in *SandboxParams) (*body[berth.GrepResult], error) {
	var f faults
	var q berth.GrepQuery
	_, err := readJSON(ctx, &q)
	f.add("", err)
	if err == nil {
		checkMatches(&f, q.Pattern, q.Limit)
		checkGuard(&f, "guard", q.Guard)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	provider, ref, err := a.files(ctx, *in)
	if err != nil {
		return nil, err
	}
	result, err := provider.Grep(ctx, ref, q)
	if result.Matches == nil {
		result.Matches = []berth.GrepMatch{}
	}
	return &body[berth.GrepResult]{result}, err
}

func (a *API) globFiles(ctx context.Context, in *SandboxParams) (*body[berth.GlobResult], error) {
	var f faults
	var q berth.GlobQuery
	_, err := readJSON(ctx, &q)
	f.add("", err)
	if err == nil {
		checkMatches(&f, q.Pattern, q.Limit)
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	provider, ref, err := a.files(ctx, *in)
	if err != nil {
		return nil, err
	}
	result, err := provider.Glob(ctx, ref, q)
	if result.Paths == nil {
		result.Paths = []string{}
	}
	return &body[berth.GlobResult]{result}, err
}
