//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// interrupt is Ctrl-C. Where the tests were started to ignore it, the program
// they start does so too; TERM means the same to it.
func interrupt(t *testing.T, p *os.Process) {
	t.Helper()
	s := os.Interrupt
	if signal.Ignored(s) {
		s = syscall.SIGTERM
	}
	if err := p.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(int64(n))).Read(b)
	return b
}

func TestExecInALiveRun(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		id := m.live()

		input := randomBytes(5<<20 + 11)
		sum := sha256.Sum256(input)
		if r := m.runWith(input, "exec", id, "--", "sha256sum"); r.status != 0 || r.stdout != hex.EncodeToString(sum[:])+"  -\n" {
			t.Errorf("sha256sum of standard input = %d, %q, want %x\n%s", r.status, r.stdout, sum, r.stderr)
		}
		// A command that does not read all of its input still ends well.
		if r := m.runWith(input, "exec", id, "--", "head", "-c", "3"); r.status != 0 || r.stdout != string(input[:3]) {
			t.Errorf("head of standard input = %d, %q\n%s", r.status, r.stdout, r.stderr)
		}
		if r := m.runWith([]byte{}, "exec", id, "--", "cat"); r.status != 0 || r.stdout != "" {
			t.Errorf("cat of nothing = %d, %q\n%s", r.status, r.stdout, r.stderr)
		}
		if r := m.run("exec", "-q", id, "--", "sh", "-c", "echo out; echo err >&2; exit 9"); r.status != 9 || r.stdout != "out\n" || r.stderr != "err\n" {
			t.Errorf("exec = %+v, want 9 and the streams apart", r)
		}
		if r := m.run("exec", "--timeout", "500ms", id, "--", "sleep", "600"); r.status != 124 {
			t.Errorf("a timeout = %d, want 124", r.status)
		}
		if r := m.run("exec", id, "--", "no-such-program"); r.status != 127 {
			t.Errorf("a missing program = %d, want 127", r.status)
		}
		if r := m.run("exec", "--dir", "/", "--env", "X=a=b c", id, "-c", `pwd; echo "$X"`); r.stdout != "/\na=b c\n" {
			t.Errorf("folder and variable = %+v", r)
		}
	})
}

func TestExecPassesSignalsOn(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		id := m.live()
		for sent, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
			if signal.Ignored(sent) {
				continue // the program ignores what it was started to ignore
			}
			marker := fmt.Sprintf("sleep 60%d.%d", want, os.Getpid())
			cmd, _, stderr := m.command("exec", "-n", id, "-c", "exec "+marker)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// One is the command itself, the other berth with the script in its arguments.
			if !within(endWait, func() bool { return processes(marker) >= 2 }) {
				t.Fatalf("the command does not run: %s", stderr)
			}
			if err := cmd.Process.Signal(sent); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its status is looked at below
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("after %v berth exec = %d, want %d\n%s", sent, got, want, stderr)
			}
		}
	})
}

func TestCpInAndOutOfALiveRun(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		id := m.live()
		for name, size := range map[string]int{"empty": 0, "small": 100, "large": 9<<20 + 5} {
			data := randomBytes(size)
			if err := os.WriteFile(filepath.Join(m.dir, "in"), data, 0o640); err != nil {
				t.Fatal(err)
			}
			m.ok("cp", "in", id+":sub/"+name)
			m.ok("cp", id+":sub/"+name, "out")
			got, err := os.ReadFile(filepath.Join(m.dir, "out"))
			if err != nil || string(got) != string(data) {
				t.Errorf("%s: %d bytes came back, %v; want %d", name, len(got), err, size)
			}
			if info, err := os.Stat(filepath.Join(m.dir, "out")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%s: mode %v, %v; want it kept", name, info.Mode(), err)
			}
		}
		m.ok("cp", "-r", id+":sub", "copy")
		entries, err := os.ReadDir(filepath.Join(m.dir, "copy"))
		if err != nil || len(entries) != 3 {
			t.Errorf("the copied folder holds %v, %v; want 3 files", entries, err)
		}
		if r := m.run("cp", id+":../../etc/hostname", "stolen"); r.status == 0 {
			t.Error("a file outside of the workspace was copied")
		}
		r := m.run("cp", id+":sub/none", "x")
		if r.status != 4 || !strings.Contains(r.stderr, "not_found") {
			t.Errorf("a file that is not there = %d\n%s", r.status, r.stderr)
		}
	})
}

func TestAFolderIsCopiedIntoItselfOnce(t *testing.T) {
	m := newMachine(t) // whose sandboxes are folders of it
	if err := os.WriteFile(filepath.Join(m.dir, "a"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"down", "up"} { // which are there already
		if err := os.Mkdir(filepath.Join(m.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	id := m.live()
	m.ok("cp", "-r", id+":.", "down")
	m.ok("cp", "-r", ".", id+":up")
	var files []string
	err := fs.WalkDir(os.DirFS(m.dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, name)
		}
		return err
	})
	work := filepath.Base(m.dir)
	want := []string{"a", "down/a", "up/" + work + "/a", "up/" + work + "/down/a"}
	if diff := cmp.Diff(want, files); diff != "" || err != nil {
		t.Errorf("files (-want +got), %v:\n%s", err, diff)
	}
}

func TestAKeptSandboxIsStartedAndUsedAgain(t *testing.T) {
	onEveryMachine(t, func(t *testing.T, m *machine) {
		r := m.ok("run", "-e", m.environment, "--preserve-sandbox", "-c", "echo kept > file")
		mustContain(t, "stderr", r.stderr, "get back in with: ")
		sandbox := string(m.newest().Sandbox)
		if r := m.run("exec", sandbox, "--", "cat", "file"); r.status != 125 {
			t.Errorf("exec in a stopped sandbox = %d, want 125\n%s", r.status, r.stderr)
		}
		m.ok("sandbox", "start", sandbox)
		if r := m.ok("exec", "-q", sandbox, "--", "cat", "file"); r.stdout != "kept\n" {
			t.Errorf("the file holds %q", r.stdout)
		}
		m.ok("sandbox", "rm", sandbox)
		if r := m.run("exec", sandbox, "--", "true"); r.status != 125 {
			t.Errorf("exec in a destroyed sandbox = %d, want 125", r.status)
		}
	})
}
