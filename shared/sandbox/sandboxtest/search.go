package sandboxtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func testSearch(t *testing.T, s *sandbox) {
	for path, data := range map[string]string{
		"a.go": "package a\n", "a/b.go": "package b\n// Needle\n", "a/b/c.go": "no newline needle", "a-b.go": "x\n", ".hidden/x.go": "needle\n",
		"a/é.txt": "é needle é\n", "crlf.txt": "one needle\r\ntwo\r\n", "A.GO": "needle", "line\nbreak.go": "needle\n", "bin": "needle\x00needle\n",
		"long.txt": strings.Repeat("é", 3000) + " needle\n", "[x].txt": "needle\n", "x.txt": "",
	} {
		s.write(t, "tree/"+path, data)
	}
	s.must(t, "cd tree && ln -s a linked && ln -s a.go alias.go && mkdir empty")
	t.Run("glob", func(t *testing.T) {
		for _, tt := range []struct {
			pattern string
			want    []string
		}{
			{"*.go", []string{"a-b.go", "a.go", "alias.go", "line\nbreak.go"}},
			{"**/*.go", []string{".hidden/x.go", "a-b.go", "a.go", "a/b.go", "a/b/c.go", "alias.go", "line\nbreak.go"}},
			{"a/**", []string{"a/b.go", "a/b/c.go", "a/é.txt"}},
			{"a/**/c.go", []string{"a/b/c.go"}},
			{"**/b/**", []string{"a/b/c.go"}},
			{"a/?.txt", []string{"a/é.txt"}},
			{"?.go", []string{"a.go"}},
			{"*.GO", []string{"A.GO"}},
			{"[x].txt", []string{"[x].txt"}},
			{"./a//b.go", []string{"a/b.go"}},
			{"*", []string{"A.GO", "[x].txt", "a-b.go", "a.go", "alias.go", "bin", "crlf.txt", "line\nbreak.go", "linked", "long.txt", "x.txt"}},
			{"empty", nil},
			{"none*", nil},
		} {
			got, err := s.Provider.Glob(ctx(t), s.ref, berth.GlobQuery{Pattern: tt.pattern, Path: "tree"})
			if err != nil {
				t.Errorf("Glob(%q): %v", tt.pattern, err)
			}
			want := []string{}
			for _, path := range tt.want {
				want = append(want, "tree/"+path)
			}
			if diff := cmp.Diff(want, got.Paths); diff != "" {
				t.Errorf("Glob(%q) (-want +got):\n%s", tt.pattern, diff)
			}
		}
		cut, err := s.Provider.Glob(ctx(t), s.ref, berth.GlobQuery{Pattern: "tree/**", Limit: 2})
		if diff := cmp.Diff(berth.GlobResult{Paths: []string{"tree/.hidden/x.go", "tree/A.GO"}, Truncated: true}, cut); diff != "" || err != nil {
			t.Errorf("Glob with a limit of 2 (-want +got), %v:\n%s", err, diff)
		}
		for _, q := range []berth.GlobQuery{{}, {Pattern: "/etc/*"}, {Pattern: "../*"}, {Pattern: "a/../../*"}, {Pattern: "*", Path: ".."}, {Pattern: "*", Limit: -1}, {Pattern: "*", Path: "tree/a.go"}} {
			_, err := s.Provider.Glob(ctx(t), s.ref, q)
			wantCode(t, fmt.Sprintf("Glob(%+v)", q), err, berth.CodeInvalid)
		}
		_, err = s.Provider.Glob(ctx(t), s.ref, berth.GlobQuery{Pattern: "*", Path: "none"})
		wantCode(t, "Glob below nothing", err, berth.CodeNotFound)
		slow := strings.Repeat("**/*a*", 1) + strings.Repeat("/**/*a*", 30)
		if _, err := s.Provider.Glob(ctx(t), s.ref, berth.GlobQuery{Pattern: slow + strings.Repeat("*a", 200)}); err != nil {
			t.Errorf("Glob of a pattern made to be slow: %v", err)
		}
	})
	t.Run("grep", func(t *testing.T) {
		for _, tt := range []struct {
			q    berth.GrepQuery
			want []string
		}{
			{berth.GrepQuery{Pattern: "needle", Path: "tree"}, []string{
				".hidden/x.go:1:needle", "A.GO:1:needle", "[x].txt:1:needle", "a/b/c.go:1:no newline needle", "a/é.txt:1:é needle é",
				"crlf.txt:1:one needle", "line\nbreak.go:1:needle", "long.txt:1:" + strings.Repeat("é", 1000),
			}},
			{berth.GrepQuery{Pattern: "needle$", Path: "tree/a", IgnoreCase: true}, []string{"a/b.go:2:// Needle", "a/b/c.go:1:no newline needle"}},
			{berth.GrepQuery{Pattern: "^package [ab]$", Path: "tree", Glob: "**/*.go"}, []string{"a.go:1:package a", "a/b.go:1:package b"}},
			{berth.GrepQuery{Pattern: "package", Path: "tree", Glob: "*.go"}, []string{"a.go:1:package a"}},
			{berth.GrepQuery{Pattern: "package", Path: "tree/alias.go"}, []string{"a.go:1:package a"}},
			{berth.GrepQuery{Pattern: "no such text", Path: "tree"}, nil},
		} {
			got, err := s.Provider.Grep(ctx(t), s.ref, tt.q)
			if err != nil {
				t.Errorf("Grep(%+v): %v", tt.q, err)
			}
			var lines []string
			for _, m := range got.Matches {
				lines = append(lines, fmt.Sprintf("%s:%d:%s", strings.TrimPrefix(m.Path, "tree/"), m.Line, m.Text))
			}
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("Grep(%+v) (-want +got):\n%s", tt.q, diff)
			}
		}
		cut, err := s.Provider.Grep(ctx(t), s.ref, berth.GrepQuery{Pattern: "needle", Limit: 2})
		if err != nil || len(cut.Matches) != 2 || !cut.Truncated {
			t.Errorf("Grep with a limit of 2 = %+v, %v", cut, err)
		}
		for _, q := range []berth.GrepQuery{{Pattern: "("}, {Pattern: "x", Glob: "/x"}, {Pattern: "x", Path: "../x"}, {Pattern: "x", Limit: -1}} {
			_, err := s.Provider.Grep(ctx(t), s.ref, q)
			wantCode(t, fmt.Sprintf("Grep(%+v)", q), err, berth.CodeInvalid)
		}
		_, err = s.Provider.Grep(ctx(t), s.ref, berth.GrepQuery{Pattern: "x", Path: "none"})
		wantCode(t, "Grep of nothing", err, berth.CodeNotFound)
	})
}
