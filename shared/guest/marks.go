//go:build linux

package guest

import "github.com/berth-dev/berth/shared/guest/proctree"

// marker finds the processes of a command that have left their parent and their
// session: all that a command starts inherits its mark. It is guarded by the
// reaper's lock, but for has.
type marker interface {
	// with calls fork so that the child carries a new mark before it does anything.
	// A child that is held is traced, and stands before its first instruction
	// until it is let go. A mark of 0 is none.
	with(fork func(held bool) (int, error)) (pid int, mark uint64, err error)
	// has reports whether a process carries the mark.
	has(pid int, mark uint64) bool
}

// limitMarks are limits without an effect (see proctree.Tag). The owner of the
// sandbox finds processes by them too.
type limitMarks struct {
	base proctree.Tag // 0 where limits cannot be set; the session and the parents decide alone then
	last proctree.Tag
}

func newLimitMarks(base proctree.Tag) *limitMarks {
	if base == 0 || proctree.SetTag(base) != nil {
		return &limitMarks{}
	}
	return &limitMarks{base: base}
}

func (m *limitMarks) with(fork func(held bool) (int, error)) (pid int, mark uint64, err error) {
	if m.base == 0 {
		pid, err = fork(false)
		return pid, 0, err
	}
	m.last = m.last%(proctree.TagRange-1) + 1
	tag := m.base + m.last
	if proctree.SetTag(tag) != nil {
		tag = 0
	}
	pid, err = fork(false)
	if tag != 0 {
		_ = proctree.SetTag(m.base)
	}
	return pid, uint64(tag), err
}

func (m *limitMarks) has(pid int, mark uint64) bool { return uint64(proctree.TagOf(pid)) == mark }
