package gitsource_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

// always are the servers that short tests use too: the others differ in SHAs.
var always = map[string]bool{"http": true}

// wanted tells whether servers can differ in a case.
func wanted(how string, target berth.Target) bool {
	return how == "http" || target.SHA != "" || target.Tag != "" && !testing.Short()
}

const missing = "0123456789abcdef0123456789abcdef01234567"

// servers are the ways in which a repository is served.
var servers = map[string]func(testing.TB) *gitservertest.Server{
	"http": func(t testing.TB) *gitservertest.Server { return gitservertest.Start(t, gitservertest.Options{}) },
	"http of protocol 0": func(t testing.TB) *gitservertest.Server {
		return gitservertest.Start(t, gitservertest.Options{Version0: true})
	},
	"http that gives any SHA": func(t testing.TB) *gitservertest.Server {
		s := gitservertest.Start(t, gitservertest.Options{Version0: true})
		s.Git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
		return s
	},
	"http that gives tips": func(t testing.TB) *gitservertest.Server {
		s := gitservertest.Start(t, gitservertest.Options{Version0: true})
		s.Git(t, "config", "uploadpack.allowTipSHA1InWant", "true")
		return s
	},
	"daemon": func(t testing.TB) *gitservertest.Server {
		return gitservertest.StartDaemon(t, gitservertest.Options{})
	},
}

func TestTheWorkingBranchIsAttachedToTheChosenRevision(t *testing.T) {
	t.Parallel()
	for how, start := range servers {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !always[how] {
				t.Skip("short: the other servers differ in SHAs")
			}
			s := start(t)
			for name, c := range map[string]struct {
				target         berth.Target
				branch, commit string
			}{
				"the default branch":                   {berth.Target{}, "main", s.Tip},
				"a branch":                             {berth.Target{Branch: gitservertest.OtherBranch}, gitservertest.OtherBranch, s.OtherTip},
				"a lightweight tag":                    {berth.Target{Branch: "main", Tag: gitservertest.LightTag}, "main", s.Light},
				"an annotated tag":                     {berth.Target{Branch: "main", Tag: gitservertest.AnnotatedTag}, "main", s.Annotated},
				"an annotated tag of an annotated tag": {berth.Target{Tag: gitservertest.NestedTag}, "main", s.Annotated},
				"a tag with a branch of the run's own": {berth.Target{Branch: "work", Tag: gitservertest.LightTag}, "work", s.Light},
				"a SHA beyond the depth":               {berth.Target{Branch: "main", SHA: s.OldSHA}, "main", s.OldSHA},
				"a SHA without a branch":               {berth.Target{SHA: s.OldSHA}, "main", s.OldSHA},
				"a SHA in upper case":                  {berth.Target{SHA: strings.ToUpper(s.OldSHA)}, "main", s.OldSHA},
				"a SHA before a tag":                   {berth.Target{SHA: s.Light, Tag: "not-there"}, "main", s.Light},
				"the tip's SHA":                        {berth.Target{SHA: s.Tip}, "main", s.Tip},
				"a SHA on another branch":              {berth.Target{Branch: "main", SHA: s.OldMiddle}, "main", s.OldMiddle},
				"a SHA with a branch of the run's own": {berth.Target{Branch: "wip", SHA: s.OldSHA}, "wip", s.OldSHA},
			} {
				if !wanted(how, c.target) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					c.target.Origin = s.URL
					run := newClone(t, c.target)
					run.run(t)
					run.wantAt(t, c.branch, c.commit)
					if got := run.git(t, "config", "remote.origin.url"); got != s.URL {
						t.Errorf("the origin is %q, want %q", got, s.URL)
					}
				})
			}
		})
	}
}

func TestAMissingRevisionIsNamedAndNothingTakesItsPlace(t *testing.T) {
	t.Parallel()
	for how, start := range servers {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !always[how] {
				t.Skip("short: the other servers differ in SHAs")
			}
			s := start(t)
			for name, c := range map[string]struct {
				target berth.Target
				word   string
			}{
				"a branch":                     {berth.Target{Branch: "nope"}, "branch nope is not in "},
				"the end of a branch's name":   {berth.Target{Branch: "login"}, "branch login is not in "},
				"a tag":                        {berth.Target{Branch: "main", Tag: "v9"}, "tag v9 is not in "},
				"a branch's name as a tag":     {berth.Target{Tag: "main"}, "tag main is not in "},
				"a tag that names a blob":      {berth.Target{Tag: gitservertest.BlobTag}, "tag blob of "},
				"a SHA":                        {berth.Target{Branch: "main", SHA: missing}, "commit " + missing + " is not in "},
				"a SHA with a tag that exists": {berth.Target{Tag: "v1.0", SHA: missing}, "commit " + missing + " is not in "},
				"the SHA of a tag object":      {berth.Target{SHA: s.TagObject}, s.TagObject},
				"the SHA of a blob":            {berth.Target{SHA: s.Blob}, s.Blob},
			} {
				if !wanted(how, c.target) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					c.target.Origin = s.URL
					run := newClone(t, c.target)
					run.run(t)
					run.wantFailed(t, gitsource.StatusRevision, c.word, s.URL)
					for _, file := range run.files(t) {
						if file != ".git" {
							t.Errorf("%s was checked out", file)
						}
					}
				})
			}
		})
	}
}

func TestACommitThatNoRefReachesIsFetchedOnlyWhereTheServerGivesIt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{Version0: true})
	run := newClone(t, berth.Target{Origin: s.URL, SHA: s.Hidden})
	run.run(t)
	run.wantFailed(t, gitsource.StatusRevision, "commit "+s.Hidden)
	s.Git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
	run.run(t)
	run.wantAt(t, "main", s.Hidden)
}

func TestABranchIsNotMistakenForOneThatEndsInItsRef(t *testing.T) {
	t.Parallel()
	s := gitservertest.Start(t, gitservertest.Options{})
	s.Git(t, "update-ref", "refs/heads/deep/refs/heads/nested", s.Light)
	s.Git(t, "update-ref", "refs/tags/deep/refs/tags/nested", s.Light)
	for _, target := range []berth.Target{{Branch: "nested"}, {Branch: "main", Tag: "nested"}} {
		target.Origin = s.URL
		run := newClone(t, target)
		run.run(t)
		run.wantFailed(t, gitsource.StatusRevision, "nested is not in ")
		if files := run.files(t); len(files) > 0 {
			t.Errorf("the workspace holds %v, want nothing", files)
		}
	}
}

func TestASHAThatTheServerCertainlyLacksIsNotSearchedFor(t *testing.T) {
	t.Parallel()
	s := gitservertest.Start(t, gitservertest.Options{})
	run := newClone(t, berth.Target{Origin: s.URL, SHA: missing})
	run.run(t)
	run.wantFailed(t, gitsource.StatusRevision, missing)
	if strings.Contains(run.log, "looking for it") {
		t.Errorf("history was fetched:\n%s", run.log)
	}
}

func TestTheDepthIsHonoured(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	for name, c := range map[string]struct {
		target      berth.Target
		depth, want int
		tags        string
	}{
		"three commits of a branch":   {berth.Target{}, 3, 3, ""},
		"one commit of a tag":         {berth.Target{Tag: gitservertest.LightTag}, 1, 1, gitservertest.LightTag},
		"three commits of a SHA":      {berth.Target{SHA: s.Light}, 3, 3, ""},
		"more than there are":         {berth.Target{}, 1000, gitservertest.MainCommits, ""},
		"the default":                 {berth.Target{}, berth.DefaultCloneDepth, berth.DefaultCloneDepth, ""},
		"all of a branch, with tags":  {berth.Target{}, 0, gitservertest.MainCommits, "blob v1.0 v2.0 v2.0-signed"},
		"all of a tag's history":      {berth.Target{Tag: gitservertest.LightTag}, 0, 140, "v1.0 v2.0 v2.0-signed"},
		"all of the history of a SHA": {berth.Target{SHA: s.Light}, 0, 140, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.target.Origin = s.URL
			run := newClone(t, c.target)
			run.depth = c.depth
			run.run(t)
			run.wantAt(t, "main", run.git(t, "rev-parse", "HEAD"))
			if got := run.git(t, "rev-list", "--count", "HEAD"); got != strconv.Itoa(c.want) {
				t.Errorf("there are %s commits, want %d", got, c.want)
			}
			if got := strings.Join(strings.Fields(run.git(t, "tag", "--list")), " "); got != c.tags {
				t.Errorf("the tags are %q, want %q", got, c.tags)
			}
		})
	}
}

func TestARepositoryWithoutADefaultBranchAsksForOne(t *testing.T) {
	t.Parallel()
	s := gitservertest.Start(t, gitservertest.Options{})
	s.Git(t, "symbolic-ref", "HEAD", "refs/heads/gone")
	run := newClone(t, berth.Target{Origin: s.URL})
	run.run(t)
	run.wantFailed(t, gitsource.StatusRevision, s.URL+" has no default branch", "name a branch")
	run.target.Branch = "main"
	run.run(t)
	run.wantAt(t, "main", s.Tip)
}
