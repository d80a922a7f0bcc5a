package sandboxtest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func (s *sandbox) write(t testing.TB, path, data string) berth.FileInfo {
	t.Helper()
	info, err := s.Provider.WriteFile(ctx(t), s.ref, path, strings.NewReader(data), int64(len(data)), 0, "")
	if err != nil {
		t.Fatalf("WriteFile(%q): %v", path, err)
	}
	return info
}

func (s *sandbox) read(t testing.TB, path string) string {
	t.Helper()
	var all []byte
	for {
		data, err := s.Provider.ReadFile(ctx(t), s.ref, path, int64(len(all)), 0, "")
		if err != nil {
			t.Fatalf("ReadFile(%q): %v", path, err)
		}
		all = append(all, data.Data...)
		if data.Next != int64(len(all)) {
			t.Fatalf("ReadFile(%q): next %d after %d bytes", path, data.Next, len(all))
		}
		if data.EOF {
			return string(all)
		}
	}
}

func testFiles(t *testing.T, s *sandbox) {
	t.Run("what is written is read, whatever the name", func(t *testing.T) {
		for _, name := range []string{
			"plain", "deep/er/file", "with blank", "new\nline", "-dash", "é😀", "\xff\xfe", "*", "a\\b", "..double", "deep/../back", "./dot",
			strings.Repeat("n", 255), s.workspace + "/absolute",
		} {
			s.write(t, name, "content of "+name)
			if got := s.read(t, name); got != "content of "+name {
				t.Errorf("%q holds %q", name, got)
			}
		}
		if got := s.must(t, `cat 'new
line' -- -dash`); got != "content of new\nlinecontent of -dash" {
			t.Errorf("a command reads %q", got)
		}
	})
	t.Run("a large file goes in pieces", func(t *testing.T) {
		data := make([]byte, 5<<20+17)
		rnd := rand.New(rand.NewPCG(3, 4))
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		s.write(t, "large", string(data))
		if s.read(t, "large") != string(data) {
			t.Error("it is not what was written")
		}
		piece, err := s.Provider.ReadFile(ctx(t), s.ref, "large", 1000, 10, "")
		if err != nil || !bytes.Equal(piece.Data, data[1000:1010]) || piece.Next != 1010 || piece.EOF || piece.Info.Size != int64(len(data)) {
			t.Errorf("ReadFile(1000, 10) = %+v, %v", piece.Info, err)
		}
		end, err := s.Provider.ReadFile(ctx(t), s.ref, "large", int64(len(data))+5, 10, "")
		if err != nil || len(end.Data) != 0 || !end.EOF {
			t.Errorf("ReadFile behind the end = %d bytes, %v", len(end.Data), err)
		}
	})
	t.Run("an empty file is a file", func(t *testing.T) {
		if info := s.write(t, "empty", ""); info.Size != 0 || info.Kind != berth.FileRegular {
			t.Errorf("WriteFile = %+v", info)
		}
		if got := s.read(t, "empty"); got != "" {
			t.Errorf("it holds %q", got)
		}
	})
	t.Run("modes are set, kept, and safe by default", func(t *testing.T) {
		for _, step := range []struct{ mode, want uint32 }{{0, 0o644}, {0o750, 0o750}, {0, 0o750}, {0o600, 0o600}} {
			info, err := s.Provider.WriteFile(ctx(t), s.ref, "moded", strings.NewReader("x"), 1, step.mode, "")
			if err != nil || info.Mode != step.want || info.Path != "moded" || info.Size != 1 {
				t.Errorf("WriteFile with mode %o = %+v, %v; want %o", step.mode, info, err, step.want)
			}
		}
		if got := s.must(t, "stat -c %a moded"); got != "600\n" {
			t.Errorf("its mode is %s", got)
		}
	})
	t.Run("a size that is wrong changes nothing", func(t *testing.T) {
		s.write(t, "sized", "before")
		for _, size := range []int64{2, 4, 3 << 20, -1} {
			_, err := s.Provider.WriteFile(ctx(t), s.ref, "sized", strings.NewReader("abc"), size, 0, "")
			wantCode(t, fmt.Sprintf("WriteFile of 3 bytes with size %d", size), err, berth.CodeInvalid)
		}
		_, err := s.Provider.WriteFile(ctx(t), s.ref, "sized", io.LimitReader(zeros{}, 3<<20), 2<<20, 0, "")
		wantCode(t, "WriteFile of 3 MiB with size 2 MiB", err, berth.CodeInvalid)
		if got := s.read(t, "sized"); got != "before" {
			t.Errorf("it holds %q", got)
		}
		if got := s.must(t, "find . -name '.berth-*'"); got != "" {
			t.Errorf("there is left: %s", got)
		}
	})
	t.Run("a folder is listed", func(t *testing.T) {
		s.must(t, "mkdir -p list/sub && cd list && printf abc > b && : > .hidden && ln -s /etc/passwd link && mkfifo fifo")
		got, err := s.Provider.ReadFile(ctx(t), s.ref, "list", 0, 0, "")
		if err != nil || !got.EOF || got.Info.Kind != berth.FileDirectory {
			t.Fatalf("ReadFile = %+v, %v", got, err)
		}
		var lines []string
		for _, e := range got.Entries {
			lines = append(lines, fmt.Sprintf("%s %s", e.Path, e.Kind))
		}
		want := []string{"list/.hidden file", "list/b file", "list/fifo other", "list/link other", "list/sub directory"}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a large folder is listed in pages", func(t *testing.T) {
		s.must(t, "mkdir many && cd many && touch {1..2500}")
		seen := map[string]bool{}
		for offset := int64(0); ; {
			got, err := s.Provider.ReadFile(ctx(t), s.ref, "many", offset, 0, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range got.Entries {
				seen[e.Path] = true
			}
			if offset = got.Next; got.EOF {
				break
			}
		}
		if len(seen) != 2500 {
			t.Errorf("%d entries", len(seen))
		}
	})
	t.Run("delete removes files, links and empty folders", func(t *testing.T) {
		s.must(t, "mkdir -p del/full/x del/empty && echo kept > del/target && ln -s target del/link && ln -s /etc/passwd del/out")
		for _, path := range []string{"del/link", "del/out", "del/empty"} {
			if err := s.Provider.DeleteFile(ctx(t), s.ref, path, ""); err != nil {
				t.Errorf("DeleteFile(%s): %v", path, err)
			}
		}
		wantCode(t, "DeleteFile of a full folder", s.Provider.DeleteFile(ctx(t), s.ref, "del/full", ""), berth.CodeConflict)
		wantCode(t, "DeleteFile of nothing", s.Provider.DeleteFile(ctx(t), s.ref, "del/none", ""), berth.CodeNotFound)
		wantCode(t, "DeleteFile of the workspace", s.Provider.DeleteFile(ctx(t), s.ref, ".", ""), berth.CodeInvalid)
		if got := s.must(t, "cd del && ls && cat target /etc/passwd | head -1"); got != "full\ntarget\nkept\n" {
			t.Errorf("there is left: %q", got)
		}
	})
	t.Run("what is no file is refused", func(t *testing.T) {
		s.must(t, "mkdir -p odd/dir && cd odd && mkfifo fifo && echo x > file && ln -s loop loop && ln -s none dangling")
		_, err := s.Provider.ReadFile(ctx(t), s.ref, "odd/fifo", 0, 0, "")
		wantCode(t, "ReadFile of a pipe", err, berth.CodeInvalid)
		_, err = s.Provider.ReadFile(ctx(t), s.ref, "odd/loop", 0, 0, "")
		wantCode(t, "ReadFile of a circle of links", err, berth.CodeInvalid)
		_, err = s.Provider.ReadFile(ctx(t), s.ref, "odd/none", 0, 0, "")
		wantCode(t, "ReadFile of nothing", err, berth.CodeNotFound)
		_, err = s.Provider.ReadFile(ctx(t), s.ref, "odd/file/below", 0, 0, "")
		wantCode(t, "ReadFile below a file", err, berth.CodeNotFound)
		_, err = s.Provider.ReadFile(ctx(t), s.ref, "odd/file", -1, 0, "")
		wantCode(t, "ReadFile at -1", err, berth.CodeInvalid)
		for path, code := range map[string]berth.Code{
			"odd/dir": berth.CodeConflict, "odd/fifo": berth.CodeConflict, "odd/file/below": berth.CodeConflict, "odd/dangling": berth.CodeInvalid, ".": berth.CodeConflict, "": berth.CodeConflict,
		} {
			_, err := s.Provider.WriteFile(ctx(t), s.ref, path, strings.NewReader("x"), 1, 0, "")
			wantCode(t, "WriteFile "+path, err, code)
		}
	})
	t.Run("a link inside the workspace is followed, and stays one", func(t *testing.T) {
		s.must(t, "mkdir -p lnk/real && echo old > lnk/real/f && ln -s real lnk/dir && ln -s real/f lnk/file && ln -s \"$PWD/lnk/real/f\" lnk/abs")
		for _, path := range []string{"lnk/dir/f", "lnk/file", "lnk/abs"} {
			s.write(t, path, "via "+path)
			if got := s.must(t, "cat lnk/real/f"); got != "via "+path {
				t.Errorf("after a write to %s: %q", path, got)
			}
		}
		s.must(t, "[ -L lnk/file ] && [ -L lnk/abs ]")
	})
	t.Run("no path leaves the workspace", func(t *testing.T) {
		outside := s.must(t, `d=$(mktemp -d) && echo secret > "$d/f" && printf %s "$d" && mkdir -p esc && ln -s "$d" esc/dir && ln -s "$d/f" esc/file && ln -s ../../../../../../../../../../../..$d esc/rel`)
		defer s.must(t, "rm -rf '"+outside+"'")
		for _, path := range []string{
			"..", "../x", "esc/../../x", outside + "/f", "/etc/passwd", "/", s.workspace + "/../x", s.workspace + "x",
			"esc/dir/f", "esc/dir/new", "esc/file", "esc/rel/f", "esc/dir", "a\x00b",
		} {
			_, err := s.Provider.ReadFile(ctx(t), s.ref, path, 0, 0, "")
			wantCode(t, "ReadFile "+path, err, berth.CodeInvalid)
			_, err = s.Provider.WriteFile(ctx(t), s.ref, path, strings.NewReader("x"), 1, 0, "")
			wantCode(t, "WriteFile "+path, err, berth.CodeInvalid)
			_, err = s.Provider.Grep(ctx(t), s.ref, berth.GrepQuery{Pattern: "secret", Path: path})
			wantCode(t, "Grep "+path, err, berth.CodeInvalid)
			if path != "esc/file" && path != "esc/dir" { // there the link itself goes
				wantCode(t, "DeleteFile "+path, s.Provider.DeleteFile(ctx(t), s.ref, path, ""), berth.CodeInvalid)
			}
		}
		if got := s.must(t, "ls '"+outside+"' && cat '"+outside+"/f'"); got != "f\nsecret\n" {
			t.Errorf("outside there is: %q", got)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
