//go:build linux

package guest

import (
	"os"
	"strconv"
	"strings"

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
// guest must outlive its commands, so it forks with a raised score and takes its
// own back. The raised score is also the command's mark: it leaves the limits of
// commands as an engine gives them.
type killerMarks struct {
	path   string // of the guest's own score
	base   int    // that score
	free   []int
	filled bool // free has been filled before
	used   func() map[int]bool
}

func newKillerMarks() *killerMarks {
	m := &killerMarks{path: "/proc/self/oom_score_adj", used: scoresInUse}
	m.base, _ = scoreOf("self")
	return m
}

// first is the lowest raised score, which is also that of commands without a mark.
func (m *killerMarks) first() int { return min(m.base+scoreRaise, maxScore-scoreMarks) }

func (m *killerMarks) with(fork func() (int, error)) (pid int, mark uint64, err error) {
	first := m.first()
	if first <= m.base { // the guest is as likely to be killed as can be already
		pid, err = fork()
		return pid, 0, err
	}
	score := m.next()
	raised := m.write(score)
	pid, err = fork()
	if raised {
		m.write(m.base)
	}
	if !raised || score == first {
		return pid, 0, err
	}
	return pid, uint64(score), err
}

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

func (m *killerMarks) write(score int) bool {
	return os.WriteFile(m.path, strconv.AppendInt(nil, int64(score), 10), 0o644) == nil
}

func (m *killerMarks) has(pid int, mark uint64) bool {
	score, ok := scoreOf(strconv.Itoa(pid))
	return ok && uint64(score) == mark
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
