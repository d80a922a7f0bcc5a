//go:build linux

package guest

import "github.com/berth-dev/berth/shared/guest/proctree"

// tags hands out the marks by which a command's processes are found when they
// have left their parent and their session. It is guarded by the reaper's lock.
type tags struct {
	base proctree.Tag // 0 where limits cannot be set; the session and the parents decide alone then
	last proctree.Tag
}

func newTags(base proctree.Tag) tags {
	if base == 0 || proctree.SetTag(base) != nil {
		return tags{}
	}
	return tags{base: base}
}

// with calls fork while the process carries a new tag, which the child inherits.
func (t *tags) with(fork func() (int, error)) (pid int, tag proctree.Tag, err error) {
	if t.base == 0 {
		pid, err = fork()
		return pid, 0, err
	}
	t.last = t.last%(proctree.TagRange-1) + 1
	tag = t.base + t.last
	if proctree.SetTag(tag) != nil {
		tag = 0
	}
	pid, err = fork()
	if tag != 0 {
		_ = proctree.SetTag(t.base)
	}
	return pid, tag, err
}
