//go:build linux

package exetest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/guest/proctree"
	"github.com/berth-dev/berth/shared/shell/sshdtest"
)

// VM is one VM: an OpenSSH server whose sessions have a home of their own.
type VM struct {
	Name    string
	SSH     *sshdtest.Server
	Tags    []string
	Comment string
	Image   string
	Created time.Time
	Sparse  bool // ls tells neither its comment nor its age
}

var endsInDigits = regexp.MustCompile(`-[0-9]+$`)

// start makes the VM, which answers later when faults say so.
func (s *Server) start(v *VM, f Faults) {
	v.SSH = sshdtest.StartFor(s.t, s.box)
	// The home of a VM is never empty.
	if err := os.WriteFile(filepath.Join(v.SSH.Home, ".bashrc"), []byte("# of the image\n"), 0o644); err != nil {
		s.t.Error(err)
	}
	if f.NeverStarts || f.SlowStart > 0 {
		v.SSH.Refuse(true)
	}
	if f.SlowStart > 0 && !f.NeverStarts {
		time.AfterFunc(f.SlowStart, func() { v.SSH.Refuse(false) })
	}
}

// remove ends the VM with all that runs in it, at once as one that is switched off:
// guests would see that their folder is gone, but in their own time.
func (v *VM) remove() {
	v.SSH.Refuse(true)
	v.SSH.Cut()
	_ = os.RemoveAll(v.SSH.Home)
	tags := map[proctree.Tag]bool{} // of the guests seen: their commands are found by them when they are gone
	proctree.End(context.Background(), proctree.Ending{Limit: 30 * time.Second, Again: 6, Find: func(all []proctree.Process) (left []proctree.Process) {
		for _, pid := range v.Processes() {
			left = append(left, proctree.Below(all, pid)...)
			if p, ok := proctree.Read(pid); ok {
				left = append(left, p)
			}
			if tag := proctree.TagOf(pid); tag != 0 {
				tags[tag-tag%proctree.TagRange] = true
			}
		}
		for tag := range tags {
			left = append(left, proctree.Tagged(all, tag, 0)...)
		}
		return left
	}})
}

// Processes are those of the VM's sandboxes that live.
func (v *VM) Processes() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc") // and not a pattern, which lists each process's folder too
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && bytes.Contains(b, []byte(v.SSH.Home+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
