package gitsource_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

func TestWhatIsNotFetchedIsToldOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	const (
		modules = "warning: the code has submodules"
		lfs     = "warning: the code has files in Git LFS"
	)
	for branch, want := range map[string]string{
		"main": "", gitservertest.ModulesBranch: modules, gitservertest.LFSBranch: lfs, gitservertest.PointerBranch: lfs,
	} {
		t.Run(branch, func(t *testing.T) {
			t.Parallel()
			run := newClone(t, berth.Target{Origin: s.URL, Branch: branch})
			run.run(t)
			run.wantAt(t, branch, run.git(t, "rev-parse", "origin/"+branch))
			var got []string
			for line := range strings.SplitSeq(run.log, "\n") {
				if strings.HasPrefix(line, "warning: ") {
					got = append(got, line)
				}
			}
			if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
				t.Errorf("the warnings are %q, want %q", got, want)
			}
		})
	}
}

func TestALogOfACloneIsShort(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	run := newClone(t, berth.Target{Origin: s.URL})
	run.run(t)
	want := "fetching the default branch of " + s.URL + "\nbranch main is at " + s.Tip + "\n"
	if run.log != want {
		t.Errorf("the log is\n%s\nwant\n%s", run.log, want)
	}
}
