package sandboxtest

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func testGuard(t *testing.T, s *sandbox) {
	read := func(t *testing.T, path, guard string) {
		t.Helper()
		if _, err := s.Provider.ReadFile(ctx(t), s.ref, path, 0, 0, guard); err != nil {
			t.Fatal(err)
		}
	}
	put := func(path, data, guard string) error {
		_, err := s.Provider.WriteFile(ctx(t), s.ref, path, strings.NewReader(data), int64(len(data)), 0, guard)
		return err
	}
	t.Run("what was not read may not be replaced or deleted", func(t *testing.T) {
		s.write(t, "unread", "before")
		read(t, "unread", "other")
		wantCode(t, "WriteFile", put("unread", "x", "me"), berth.CodeConflict)
		wantCode(t, "DeleteFile", s.Provider.DeleteFile(ctx(t), s.ref, "unread", "me"), berth.CodeConflict)
		if got := s.read(t, "unread"); got != "before" {
			t.Errorf("it holds %q", got)
		}
		if err := put("unread", "x", "other"); err != nil {
			t.Errorf("WriteFile by who has read it: %v", err)
		}
		if err := put("unread", "y", ""); err != nil {
			t.Errorf("WriteFile without a guard: %v", err)
		}
	})
	t.Run("new files pass", func(t *testing.T) {
		if err := put("fresh/file", "x", "me"); err != nil {
			t.Error(err)
		}
	})
	t.Run("one's own write counts as read", func(t *testing.T) {
		for _, data := range []string{"1", "2", strings.Repeat("3", 2<<20), "4"} {
			if err := put("own", data, "me"); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Provider.DeleteFile(ctx(t), s.ref, "own", "me"); err != nil {
			t.Error(err)
		}
		if err := put("own", "again", "me"); err != nil {
			t.Error(err)
		}
	})
	t.Run("what changed since is refused until it is read again", func(t *testing.T) {
		s.write(t, "changing", "one")
		read(t, "changing", "me")
		s.must(t, "printf two > changing")
		wantCode(t, "WriteFile", put("changing", "x", "me"), berth.CodeConflict)
		wantCode(t, "DeleteFile", s.Provider.DeleteFile(ctx(t), s.ref, "changing", "me"), berth.CodeConflict)
		read(t, "changing", "me")
		if err := put("changing", "x", "me"); err != nil {
			t.Error(err)
		}
	})
	t.Run("the same content again is no change", func(t *testing.T) {
		s.write(t, "same", "one")
		read(t, "same", "me")
		s.must(t, "printf one > same")
		if err := put("same", "x", "me"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a read of a part counts for the whole", func(t *testing.T) {
		s.write(t, "part", strings.Repeat("x", 100_000))
		if _, err := s.Provider.ReadFile(ctx(t), s.ref, "part", 5000, 10, "me"); err != nil {
			t.Fatal(err)
		}
		if err := put("part", "y", "me"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a grep hit counts as read, a miss does not", func(t *testing.T) {
		s.write(t, "grepped/hit", "a needle\nin hay\n")
		s.write(t, "grepped/miss", "hay\n")
		if _, err := s.Provider.Grep(ctx(t), s.ref, berth.GrepQuery{Pattern: "needle", Path: "grepped", Guard: "me"}); err != nil {
			t.Fatal(err)
		}
		if err := put("grepped/hit", "x", "me"); err != nil {
			t.Error(err)
		}
		wantCode(t, "WriteFile of a miss", put("grepped/miss", "x", "me"), berth.CodeConflict)
	})
	t.Run("other paths to a file are the same file", func(t *testing.T) {
		s.write(t, "paths/file", "one")
		s.must(t, "ln -s file paths/link")
		read(t, s.workspace+"/paths/../paths/link", "me")
		if err := put("paths/file", "x", "me"); err != nil {
			t.Error(err)
		}
		s.must(t, "printf changed > paths/file")
		wantCode(t, "DeleteFile of a link to what changed", s.Provider.DeleteFile(ctx(t), s.ref, "paths/link", "me"), berth.CodeConflict)
	})
}
