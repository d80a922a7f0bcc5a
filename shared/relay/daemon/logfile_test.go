//go:build linux

package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLogIsBoundedAndKeepsWhatWasSaidLast(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), logName)
	if err := os.WriteFile(path, []byte(strings.Repeat("panic: an earlier daemon\n", 3*maxLog/25)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	log := newLogFile(path, out)
	check := func(last string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(text) > maxLog || !strings.Contains(lines[0], "earlier lines are not kept") || !strings.HasSuffix(lines[len(lines)-1], last) || len(lines) < 1000 {
			t.Errorf("%d bytes in %d lines, from %q to %q", len(text), len(lines), lines[0], lines[len(lines)-1])
		}
	}
	check("panic: an earlier daemon")
	logger := lineLogger{log}
	const lines = 50_000
	for i := range lines {
		logger.Warn("something went wrong again", "n", i)
	}
	check(fmt.Sprintf("n=%d", lines-1))
}

func TestALogThatIsNotTheFileIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "mine")
	if err := os.WriteFile(elsewhere, make([]byte, 2*maxLog), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.OpenFile(elsewhere, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := os.WriteFile(filepath.Join(dir, logName), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lineLogger{newLogFile(filepath.Join(dir, logName), out)}.Warn("x")
	if stat, err := out.Stat(); err != nil || stat.Size() <= 2*maxLog {
		t.Errorf("it has %+v, %v", stat, err)
	}
}
