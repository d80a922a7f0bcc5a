package gitsource_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

func TestABranchHasNoUpstreamThatIsGone(t *testing.T) {
	t.Parallel()
	s := gitservertest.Start(t, gitservertest.Options{})
	for name, c := range map[string]struct {
		target   berth.Target
		upstream string // what git status says of it
	}{
		"the tip's SHA":              {berth.Target{Branch: "main", SHA: s.Tip}, "## main...origin/main"},
		"the tip's SHA alone":        {berth.Target{SHA: s.Tip}, "## main...origin/main"},
		"the branch":                 {berth.Target{Branch: "main"}, "## main...origin/main"},
		"an older SHA":               {berth.Target{Branch: "main", SHA: s.Light}, "## main"},
		"a branch of the run's own":  {berth.Target{Branch: "wip", SHA: s.Tip}, "## wip"},
		"an older tag of the branch": {berth.Target{Branch: "main", Tag: gitservertest.LightTag}, "## main"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.target.Origin = s.URL
			run := newClone(t, c.target)
			for range 2 { // the second updates the first
				run.run(t)
				branch, _, _ := strings.Cut(strings.TrimPrefix(c.upstream, "## "), "...")
				run.wantAt(t, branch, run.git(t, "rev-parse", "HEAD"))
				if got := run.git(t, "status", "--short", "--branch"); got != c.upstream {
					t.Errorf("git status says %q, want %q", got, c.upstream)
				}
				if strings.Contains(run.log, "pstream") || strings.Contains(run.log, "Your branch") {
					t.Errorf("the log speaks of the upstream:\n%s", run.log)
				}
			}
		})
	}
}
