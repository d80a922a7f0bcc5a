//go:build linux

package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
)

// FuzzNoPathLeavesTheWorkspace writes to any path and looks whether something
// outside has changed.
func FuzzNoPathLeavesTheWorkspace(f *testing.F) {
	for _, path := range []string{"..", "../x", "a/../../x", "/etc/x", "link/x", "link/../x", "a/link2/../../x", ".", "", "a\x00b", "rel/x", "./a//b/", "self/self/../x"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		base := t.TempDir()
		inside, outside := filepath.Join(base, "in"), filepath.Join(base, "out")
		for _, dir := range []string{inside + "/a", outside} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for link, target := range map[string]string{"link": outside, "a/link2": outside, "rel": "../out", "self": "."} {
			if err := os.Symlink(target, filepath.Join(inside, link)); err != nil {
				t.Fatal(err)
			}
		}
		w := New(inside)
		u, err := w.Create(WriteSpec{Path: path, Size: 1})
		if err == nil {
			if err = u.Write([]byte("x")); err == nil {
				_, err = u.Commit()
			}
		}
		var coded *berth.Error
		if err != nil && !errors.As(err, &coded) {
			t.Errorf("Create(%q): %v has no code", path, err)
		}
		_ = w.Delete(path, "")
		_, _ = w.Read(path, 0, 0, "")
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("%q left %v outside, %v", path, left, err)
		}
		if left, err := os.ReadDir(base); err != nil || len(left) != 2 {
			t.Errorf("%q left %v beside, %v", path, left, err)
		}
	})
}

// expression is what a glob means, as a regular expression.
func expression(p pattern) *regexp.Regexp {
	expr := ""
	for i, segment := range p {
		last := i == len(p)-1
		switch {
		case segment == "**" && last:
			expr = strings.TrimSuffix(expr, "/") + "(?:/[^/]+)*"
			if i == 0 {
				expr = ".*"
			}
		case segment == "**":
			expr += "(?:[^/]+/)*"
		default:
			q := regexp.QuoteMeta(segment)
			q = strings.ReplaceAll(strings.ReplaceAll(q, `\*`, "[^/]*"), `\?`, "[^/]")
			expr += q
			if !last {
				expr += "/"
			}
		}
	}
	return regexp.MustCompile("(?s)^" + expr + "$")
}

func TestGlobsMeanWhatTheirExpressionMeans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		segment := rapid.OneOf(rapid.Just("**"), rapid.StringOfN(rapid.SampledFrom([]rune("ab*?.é")), 1, 4, -1))
		text := strings.Join(rapid.SliceOfN(segment, 1, 5).Draw(t, "pattern"), "/")
		path := strings.Join(rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abé.x")), 1, 4, -1), 1, 5).Draw(t, "path"), "/")
		p, err := parsePattern("pattern", text)
		if err != nil {
			t.Skip("a segment of dots")
		}
		want := expression(p).MatchString(path)
		if got := p.match(path); got != want {
			t.Fatalf("%q matches %q: %v, want %v", text, path, got, want)
		}
		// A folder above a match must be entered.
		if dir := filepath.Dir(path); want && dir != "." && !p.mayMatchBelow(dir) {
			t.Fatalf("%q does not look into %q for %q", text, dir, path)
		}
	})
}

func TestMarksAreBounded(t *testing.T) {
	t.Parallel()
	w := New(t.TempDir())
	for i := range maxMarks + 10 {
		w.guard.mark("me", string(rune(i)), 0, fileState{})
	}
	if w.guard.count > maxMarks {
		t.Errorf("%d marks", w.guard.count)
	}
}
