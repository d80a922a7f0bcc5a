package sandboxtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Processes lists the living processes of this machine whose arguments, each with a
// NUL after it, hold text.
func Processes(text string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, file := range files {
		// One that cannot be read has ended; a dead one has no arguments.
		if args, err := os.ReadFile(file); err == nil && bytes.Contains(args, []byte(text)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// Process is the one whose arguments hold text. None, or more than one, fails the
// test.
func Process(t testing.TB, text string) int {
	t.Helper()
	pids := Processes(text)
	if len(pids) != 1 {
		t.Fatalf("%d processes of %q, want 1", len(pids), text)
	}
	return pids[0]
}

// Kill ends the one process whose arguments hold text, at once.
func Kill(t testing.TB, text string) {
	t.Helper()
	if err := syscall.Kill(Process(t, text), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// Left names the processes whose arguments hold text, as a fixture reports leftovers.
func Left(text string) (left []string) {
	for _, pid := range Processes(text) {
		left = append(left, fmt.Sprint("process ", pid))
	}
	return left
}

// PeakBytes is the most memory that a process has had.
func PeakBytes(t testing.TB, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("process %d has no memory: it has ended", pid)
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
