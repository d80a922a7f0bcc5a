//go:build linux

package guest

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// fakeMarks notes the scores that it gives.
func fakeMarks(base int, used map[int]bool) (*killerMarks, map[int]int) {
	given := map[int]int{}
	return &killerMarks{base: base, used: func() map[int]bool { return used }, unheld: true, raise: func(pid, score int) bool {
		given[pid] = score
		return true
	}}, given
}

func forked(pid int) func(bool) (int, error) { return func(bool) (int, error) { return pid, nil } }

func TestCommandsScoreHigherThanTheGuestWhateverItsOwn(t *testing.T) {
	t.Parallel()
	for base, want := range map[int]int{0: 501, -500: 1, 300: 801, 450: 901, 890: 901} {
		m, given := fakeMarks(base, nil)
		pid, mark, err := m.with(forked(7))
		if given[7] != want || pid != 7 || int(mark) != want || err != nil {
			t.Errorf("base %d: the child has %d, want %d; pid %d, mark %d, %v", base, given[7], want, pid, mark, err)
		}
		if _, _, err := m.with(func(bool) (int, error) { return 0, errors.New("no") }); err == nil {
			t.Error("the error is lost")
		}
	}
	m, given := fakeMarks(950, nil)
	if _, mark, err := m.with(forked(7)); mark != 0 || err != nil || len(given) > 0 {
		t.Errorf("a guest that goes first anyway: mark %d, %v, scores %v", mark, err, given)
	}
}

func TestMarksAreUsedAgainOnlyWhenNoProcessHasThem(t *testing.T) {
	t.Parallel()
	used := map[int]bool{}
	m, _ := fakeMarks(0, used)
	take := func() uint64 {
		t.Helper()
		_, mark, err := m.with(forked(7))
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	seen := map[uint64]bool{}
	for range scoreMarks - 1 {
		mark := take()
		if seen[mark] || mark <= scoreRaise || mark >= scoreRaise+scoreMarks {
			t.Fatalf("mark %d after %d", mark, len(seen))
		}
		seen[mark] = true
	}
	for score := scoreRaise + 1; score < scoreRaise+scoreMarks; score++ {
		used[score] = score != 540 && score != 541
	}
	for _, want := range []uint64{540, 541, 540, 541} {
		if got := take(); got != want {
			t.Errorf("mark %d, want %d", got, want)
		}
	}
	used[540], used[541] = true, true
	if got := take(); got != 0 {
		t.Errorf("mark %d although all are taken", got)
	}
}

// shell starts bash with a script, held when it is asked for.
func shell(script string, out *os.File) func(held bool) (int, error) {
	return func(held bool) (int, error) {
		null := uintptr(syscall.Stdin)
		return syscall.ForkExec("/bin/bash", []string{"bash", "-c", script}, &syscall.ProcAttr{
			Files: []uintptr{null, out.Fd(), out.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true, Ptrace: held},
		})
	}
}

func TestACommandHasItsScoreBeforeItsFirstInstruction(t *testing.T) {
	if err := syscall.Access("/bin/bash", 1); err != nil {
		t.Skipf("there is no /bin/bash: %v", err)
	}
	m := newKillerMarks()
	for range 50 {
		out, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		pid, mark, err := m.with(shell("read -r score < /proc/self/oom_score_adj; echo $score; exit 3", out))
		if err != nil {
			t.Fatal(err)
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || status.ExitStatus() != 3 {
			t.Fatalf("the child: %v, %v", status, err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		score, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || mark != 0 && uint64(score) != mark || score < m.first() && !m.unheld {
			t.Fatalf("the child's score is %q, its mark %d", text, mark)
		}
		if own, _ := scoreOf("self"); own != m.base {
			t.Fatalf("the guest's score is %d, and was %d", own, m.base)
		}
		out.Close()
	}
}

func TestACommandThatIsKilledBeforeItBeginsIsLeftToTheReaper(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := newKillerMarks()
	m.raise = func(pid, _ int) bool {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return true
	}
	pid, _, err := m.with(shell("echo never", out))
	if err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || status.Signal() != syscall.SIGKILL {
		t.Errorf("the child: %v, %v", status, err)
	}
}
