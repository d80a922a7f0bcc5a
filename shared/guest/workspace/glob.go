//go:build linux

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
)

// DefaultLimit is the most matches or paths of a query that names no limit, and
// MaxLimit the most that one may name.
const (
	DefaultLimit = 1000
	MaxLimit     = 10000
)

func checkLimit(limit int) (int, error) {
	switch {
	case limit == 0:
		return DefaultLimit, nil
	case limit < 0 || limit > MaxLimit:
		return 0, berth.FieldErrorf(berth.CodeInvalid, "limit", "must be 1 to %d", MaxLimit)
	}
	return limit, nil
}

// pattern is a glob, split at slashes.
type pattern []string

func parsePattern(field, s string) (pattern, error) {
	if s == "" || strings.HasPrefix(s, "/") || strings.ContainsRune(s, 0) {
		return nil, berth.FieldErrorf(berth.CodeInvalid, field, "must be a relative pattern, such as **/*.go")
	}
	var p pattern
	for segment := range strings.SplitSeq(s, "/") {
		switch segment {
		case "", ".":
			continue
		case "..":
			return nil, berth.FieldErrorf(berth.CodeInvalid, field, "leads out of the workspace")
		}
		// Two in a row mean the same and would only cost time.
		if segment == "**" && len(p) > 0 && p[len(p)-1] == "**" {
			continue
		}
		p = append(p, segment)
	}
	return p, nil
}

// match reports whether the pattern means the path. states is the set of
// positions in p that the segments so far lead to; there are few, so that no
// pattern takes long.
func (p pattern) match(path string) bool {
	states := p.closure(map[int]bool{0: true})
	for segment := range strings.SplitSeq(path, "/") {
		states = p.step(states, segment)
	}
	return states[len(p)]
}

// mayMatchBelow reports whether a path in the folder could match.
func (p pattern) mayMatchBelow(dir string) bool {
	states := p.closure(map[int]bool{0: true})
	for segment := range strings.SplitSeq(dir, "/") {
		states = p.step(states, segment)
	}
	for i := range states {
		if i < len(p) {
			return true
		}
	}
	return false
}

func (p pattern) closure(states map[int]bool) map[int]bool {
	for i := range p {
		if states[i] && p[i] == "**" {
			states[i+1] = true
		}
	}
	return states
}

func (p pattern) step(states map[int]bool, segment string) map[int]bool {
	next := map[int]bool{}
	for i := range states {
		switch {
		case i == len(p):
		case p[i] == "**":
			next[i] = true
		case matchSegment(p[i], segment):
			next[i+1] = true
		}
	}
	return p.closure(next)
}

// matchSegment matches `*` and `?` by going back to the last star only, which is
// enough and never takes more than the product of the lengths.
func matchSegment(pattern, s string) bool {
	star, retry := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, retry = i, j
			i++
		case i < len(pattern) && pattern[i] == '?':
			_, n := utf8.DecodeRuneInString(s[j:])
			i, j = i+1, j+n
		case i < len(pattern) && pattern[i] == s[j]:
			i, j = i+1, j+1
		case star >= 0:
			_, n := utf8.DecodeRuneInString(s[retry:])
			retry += n
			i, j = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// Glob finds files, not folders. Errors: invalid, not_found.
func (w *Workspace) Glob(ctx context.Context, q berth.GlobQuery) (berth.GlobResult, error) {
	result := berth.GlobResult{Paths: []string{}}
	limit, err := checkLimit(q.Limit)
	if err != nil {
		return result, err
	}
	match, err := parsePattern("pattern", q.Pattern)
	if err != nil {
		return result, err
	}
	p, err := w.locate(q.Path, true)
	if err != nil {
		return result, err
	}
	defer p.close()
	info, err := p.root.Stat(p.rel)
	if err != nil {
		return result, pathError(q.Path, err)
	}
	if !info.IsDir() {
		return result, berth.FieldErrorf(berth.CodeInvalid, "path", "%s is not a folder", quote(q.Path))
	}
	err = walk(ctx, p.root, p.rel, func(rel string) bool { return match.mayMatchBelow(within(p.rel, rel)) }, func(rel string, _ fs.DirEntry) error {
		if !match.match(within(p.rel, rel)) {
			return nil
		}
		if len(result.Paths) == limit {
			result.Truncated = true
			return errEnough
		}
		result.Paths = append(result.Paths, rel)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return result, err
}

// within is rel as seen from the folder dir above it.
func within(dir, rel string) string {
	if dir == "." {
		return rel
	}
	return strings.TrimPrefix(rel, dir+"/")
}
