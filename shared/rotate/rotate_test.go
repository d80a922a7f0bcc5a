package rotate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/rotate"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func open(t *testing.T, path string, limit int64) *rotate.File {
	t.Helper()
	f, err := rotate.Open(path, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestALogKeepsItsLastLinesInTwoBoundedFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	f := open(t, path, 100)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 100 {
				if _, err := fmt.Fprintf(f, "writer %d line %03d\n", w, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	fmt.Fprintln(f, "the last line")
	both := read(t, path+".1") + read(t, path)
	if !strings.HasSuffix(both, "the last line\n") {
		t.Errorf("the last line is not there: %q", both)
	}
	for line := range strings.Lines(both) {
		if len(line) != len("writer 0 line 000\n") && line != "the last line\n" {
			t.Errorf("a line was cut: %q", line)
		}
	}
	for _, name := range []string{path, path + ".1"} {
		if n := len(read(t, name)); n > 100 {
			t.Errorf("%s has %d bytes", filepath.Base(name), n)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

func TestALogGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	for i := range 3 {
		f := open(t, path, 20)
		fmt.Fprintf(f, "line %d\n", i)
		f.Close()
	}
	if got, was := read(t, path), read(t, path+".1"); got != "line 2\n" || was != "line 0\nline 1\n" {
		t.Errorf("%q after %q", got, was)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestALineOverTheLimitIsKeptWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("x", 1000) + "\n"
	f := open(t, path, 10)
	fmt.Fprint(f, long)
	fmt.Fprint(f, "y\n")
	if got, was := read(t, path), read(t, path+".1"); got != "y\n" || was != long {
		t.Errorf("%q after %d bytes", got, len(was))
	}
}

func TestALogThatCannotBePutAsideIsWrittenOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.MkdirAll(filepath.Join(path+".1", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := open(t, path, 10)
	for range 3 {
		if _, err := fmt.Fprintln(f, "123456789"); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != strings.Repeat("123456789\n", 3) {
		t.Errorf("%q", got)
	}
}
