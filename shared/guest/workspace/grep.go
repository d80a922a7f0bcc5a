//go:build linux

package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"regexp"
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	maxMatchText = 2000    // bytes of a matching line that are returned
	maxLine      = 1 << 20 // bytes of a line that are searched
	binaryHead   = 8 << 10 // a file with a NUL byte in its head is binary
	maxGrepBytes = 3 << 20 // text of one result
)

// Grep searches files by a regular expression. Binary files, links and files
// that cannot be read are passed over. Errors: invalid, not_found.
func (w *Workspace) Grep(ctx context.Context, q berth.GrepQuery) (berth.GrepResult, error) {
	g := grep{w: w, guard: q.Guard, result: berth.GrepResult{Matches: []berth.GrepMatch{}}}
	var err error
	if g.limit, err = checkLimit(q.Limit); err != nil {
		return g.result, err
	}
	expr := q.Pattern
	if q.IgnoreCase {
		expr = "(?i)" + expr
	}
	if g.expr, err = regexp.Compile(expr); err != nil {
		return g.result, &berth.Error{Code: berth.CodeInvalid, Field: "pattern", Message: "is not a regular expression (RE2)", Cause: err}
	}
	var only pattern
	if q.Glob != "" {
		if only, err = parsePattern("glob", q.Glob); err != nil {
			return g.result, err
		}
	}
	p, err := w.locate(q.Path, true)
	if err != nil {
		return g.result, err
	}
	defer p.close()
	info, err := p.root.Stat(p.rel)
	if err != nil {
		return g.result, pathError(q.Path, err)
	}
	if !info.IsDir() {
		err = g.file(ctx, place{p.root, p.rel})
	} else {
		enter := func(rel string) bool { return only == nil || only.mayMatchBelow(within(p.rel, rel)) }
		err = walk(ctx, p.root, p.rel, enter, func(rel string, entry fs.DirEntry) error {
			if !entry.Type().IsRegular() || only != nil && !only.match(within(p.rel, rel)) {
				return nil
			}
			return g.file(ctx, place{p.root, rel})
		})
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return g.result, err
}

type grep struct {
	w      *Workspace
	guard  string
	expr   *regexp.Regexp
	limit  int
	size   int
	result berth.GrepResult
}

func (g *grep) file(ctx context.Context, p place) error {
	file, err := openRegular(p)
	if err != nil {
		return nil
	}
	defer file.Close()
	before := len(g.result.Matches)
	content, err := g.lines(ctx, file, p.rel)
	if len(g.result.Matches) > before && content != nil {
		g.w.guard.mark(g.guard, p.rel, sum(content.Sum64()), fileState{})
	}
	return err
}

// lines searches one file and returns the hash of its content, nil when it was
// not read to the end.
func (g *grep) lines(ctx context.Context, file *os.File, rel string) (*maphash.Hash, error) {
	content := g.w.guard.hash()
	var source io.Reader = file
	if g.guard != "" {
		source = io.TeeReader(file, content)
	}
	r := bufio.NewReaderSize(source, 64<<10)
	if head, _ := r.Peek(binaryHead); bytes.IndexByte(head, 0) >= 0 {
		return nil, nil
	}
	var enough error
	for number := 1; ; number++ {
		if number%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		line, err := readLine(r)
		if err != nil && len(line) == 0 {
			break
		}
		if !g.expr.Match(line) {
			continue
		}
		if len(g.result.Matches) == g.limit || g.size > maxGrepBytes {
			g.result.Truncated = true
			enough = errEnough
			break
		}
		text := cutText(line)
		g.size += len(text)
		g.result.Matches = append(g.result.Matches, berth.GrepMatch{Path: rel, Line: number, Text: text})
	}
	if g.guard != "" {
		if _, err := io.Copy(io.Discard, r); err != nil {
			return nil, enough
		}
	}
	return content, enough
}

// readLine returns the next line without its end, cut at maxLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line == nil && !errors.Is(err, bufio.ErrBufferFull) {
			return trimLine(part), err
		}
		line = append(line, part[:min(len(part), maxLine-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return trimLine(line), err
		}
	}
}

func trimLine(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// cutText cuts a line on a rune's edge.
func cutText(line []byte) string {
	if len(line) <= maxMatchText {
		return string(line)
	}
	n := maxMatchText
	for n > maxMatchText-utf8.UTFMax && !utf8.RuneStart(line[n]) {
		n--
	}
	return string(line[:n])
}
