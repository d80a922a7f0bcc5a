//go:build linux

package guest

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/berth-dev/berth/shared/guest/proctree"
)

const (
	// scoreRaise puts every command before the guest when the kernel kills for
	// want of memory. The score is in thousandths of the memory that there is.
	scoreRaise = 500
	// scoreMarks is how many scores from there on are marks. It is small, so that
	// what a process uses still decides among commands.
	scoreMarks = 100
	maxScore   = 1000
)

// killerMarks are the kernel's scores for whom to kill first. As process 1 the
// guest must outlive its commands, so each gets a higher score before its first
// instruction. The guest never has that score itself: it forks most of all when
// memory is short, and is larger than many commands. The score is also the
// command's mark: it leaves the limits of commands as an engine gives them.
type killerMarks struct {
	base   int // the guest's own score
	free   []int
	filled bool // free has been filled before
	used   func() map[int]bool
	raise  func(pid, score int) bool
	// unheld says that the kernel does not let the guest hold a child before its
	// first instruction; then its score may come a moment late.
	unheld bool
}

func newKillerMarks() *killerMarks {
	m := &killerMarks{used: scoresInUse, raise: writeScore}
	m.base, _ = scoreOf("self")
	return m
}

// first is the lowest raised score, which is also that of commands without a mark.
func (m *killerMarks) first() int { return min(m.base+scoreRaise, maxScore-scoreMarks) }

func (m *killerMarks) with(fork func(held bool) (int, error)) (pid int, mark uint64, err error) {
	first := m.first()
	if first <= m.base { // the guest is as likely to be killed as can be already
		pid, err = fork(false)
		return pid, 0, err
	}
	score := m.next()
	pid, raised, err := m.start(fork, score)
	if !raised || score == first {
		return pid, 0, err
	}
	return pid, uint64(score), err
}

// start forks, holds the child where it would begin, and gives it its score.
func (m *killerMarks) start(fork func(held bool) (int, error), score int) (pid int, raised bool, err error) {
	if !m.unheld {
		runtime.LockOSThread() // only the thread that forked may let go of the child
		defer runtime.UnlockOSThread()
		if pid, err = fork(true); err == nil {
			if waitHeld(pid) {
				raised = m.raise(pid, score)
				letGo(pid)
			}
			return pid, raised, nil
		}
	}
	heldErr := err
	if pid, err = fork(false); err != nil {
		return 0, false, err
	}
	m.unheld = m.unheld || heldErr != nil
	return pid, m.raise(pid, score), nil
}

// waitHeld waits until a traced child stands before its first instruction. One
// that died on the way is left to the reaper.
func waitHeld(pid int) bool {
	const (
		idPID   = 1
		stopped = 0x2
		exited  = 0x4
		wall    = 0x40000000
		noReap  = 0x1000000
		dead    = 3 // codes up to there are of an end
	)
	var info struct { // siginfo_t
		signal, errno, code int32
		_                   [29]int32
	}
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, idPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), stopped|exited|wall|noReap, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		return errno == 0 && info.code > dead
	}
}

// letGo lets a held child begin.
func letGo(pid int) { _ = syscall.PtraceDetach(pid) } // it fails for one that was killed meanwhile

// next is a score that no process has; first when there is none.
func (m *killerMarks) next() int {
	if len(m.free) == 0 {
		first, used := m.first(), map[int]bool{}
		if m.filled { // the first time nobody can have one
			used = m.used()
		}
		m.filled = true
		for score := first + 1; score < first+scoreMarks; score++ {
			if !used[score] {
				m.free = append(m.free, score)
			}
		}
		if len(m.free) == 0 {
			return first
		}
	}
	score := m.free[0]
	m.free = m.free[1:]
	return score
}

func (m *killerMarks) has(pid int, mark uint64) bool {
	score, ok := scoreOf(strconv.Itoa(pid))
	return ok && uint64(score) == mark
}

func writeScore(pid, score int) bool {
	return os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", strconv.AppendInt(nil, int64(score), 10), 0o644) == nil
}

func scoreOf(pid string) (int, bool) {
	b, err := os.ReadFile("/proc/" + pid + "/oom_score_adj")
	if err != nil {
		return 0, false
	}
	score, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return score, err == nil
}

func scoresInUse() map[int]bool {
	used := map[int]bool{}
	all, err := proctree.All()
	if err != nil {
		return used
	}
	for _, p := range all {
		if score, ok := scoreOf(strconv.Itoa(p.PID)); ok {
			used[score] = true
		}
	}
	return used
}
