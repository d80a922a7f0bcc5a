package gitsource_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

func TestFilesThatAreNotTheClonesAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := gitservertest.Start(t, gitservertest.Options{})
	for name, c := range map[string]struct {
		files map[string]string
		word  string
	}{
		"a file":                             {map[string]string{"number": "mine"}, "there is number"},
		"a hidden file":                      {map[string]string{".env": "mine"}, "there is .env"},
		"a name with a line end":             {map[string]string{"a\nb": "mine"}, `$'a\nb'`},
		"somebody's repository":              {map[string]string{".git/HEAD": "ref: refs/heads/mine\n"}, "there is .git"},
		"a repository and files":             {map[string]string{".git/HEAD": "ref: refs/heads/mine\n", "number": "mine"}, "there is .git"},
		"an empty .git/objects":              {map[string]string{".git/objects/.keep": ""}, "there is .git"},
		"a file with the name .git":          {map[string]string{".git": "gitdir: /elsewhere\n"}, "there is .git"},
		"files beside an empty mark":         {map[string]string{".git/berth-clone": "", "number": "mine"}, "there is .git"},
		"a mark of another origin":           {map[string]string{".git/berth-clone": "done https://example.com/other " + missing + "\n"}, "it is a clone of https://example.com/other"},
		"a mark of another origin's updates": {map[string]string{".git/berth-clone": "updating https://example.com/other \n"}, "it is a clone of https://example.com/other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newClone(t, berth.Target{Origin: s.URL})
			for name, text := range c.files {
				run.write(t, name, text)
			}
			run.run(t)
			run.wantFailed(t, gitsource.StatusNotOurs, run.workspace+" is not empty", c.word, "nothing in it was changed")
			for name, text := range c.files {
				if got := run.read(t, name); got != text {
					t.Errorf("%s holds %q, want %q", name, got, text)
				}
			}
			if got := tree(t, run.workspace); len(got) != len(c.files) {
				t.Errorf("the workspace holds %v", got)
			}
		})
	}
}

func TestALinkInTheWorkspaceIsNotFollowed(t *testing.T) {
	t.Parallel()
	s := gitservertest.Start(t, gitservertest.Options{})
	elsewhere := newClone(t, berth.Target{Origin: s.URL})
	elsewhere.write(t, ".git/berth-clone", "fetching "+s.URL+" \n")
	for _, link := range []string{".git", ".git/berth-clone"} {
		run := newClone(t, berth.Target{Origin: s.URL})
		if err := os.MkdirAll(filepath.Dir(filepath.Join(run.workspace, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(elsewhere.workspace, link), filepath.Join(run.workspace, link)); err != nil {
			t.Fatal(err)
		}
		run.run(t)
		run.wantFailed(t, gitsource.StatusNotOurs, "there is .git")
	}
	if got := tree(t, elsewhere.workspace); len(got) != 1 {
		t.Errorf("behind the link there is %v", got)
	}
}

func TestACloneThatWasCutAnywhereIsMadeAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	for name, files := range map[string]map[string]string{
		"before the mark":           {".git/": ""},
		"while the mark is written": {".git/berth-clone.new": ""},
		"after the mark":            {".git/berth-clone": "fetching " + s.URL + " \n"},
		"in another target":         {".git/berth-clone": "fetching https://example.com/other \n", "other": "x"},
		"with locks": {
			".git/berth-clone": "fetching " + s.URL + " \n", ".git/berth-clone.new": "do", ".git/HEAD.lock": "", ".git/index.lock": "", ".git/shallow.lock": "",
			".git/config.lock": "", ".git/config": "[broken", ".git/HEAD": "", ".git/refs/heads/main.lock": "", ".git/objects/pack/tmp_pack_1": "x",
		},
		"in the checkout":                      {".git/berth-clone": "fetching " + s.URL + " \n", "number": "torn", "dir/1": "torn", "gone/since": "x", "-rf": "", " * ": "", "a\nb": ""},
		"with a folder in the place of a file": {".git/berth-clone": "fetching " + s.URL + " \n", "number/is/a/folder": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newClone(t, berth.Target{Origin: s.URL, Branch: "main"})
			for name, text := range files {
				if dir, ok := strings.CutSuffix(name, "/"); ok {
					if err := os.Mkdir(filepath.Join(run.workspace, dir), 0o755); err != nil {
						t.Fatal(err)
					}
					continue
				}
				run.write(t, name, text)
			}
			run.run(t)
			run.wantAt(t, "main", s.Tip)
		})
	}
}

func TestAFileSystemsLostAndFoundIsNoContent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	run := newClone(t, berth.Target{Origin: s.URL})
	run.write(t, "lost+found/x", "mine")
	run.run(t)
	if run.status != gitsource.StatusDone || run.read(t, "lost+found/x") != "mine" || run.read(t, "number") != "160\n" {
		t.Errorf("the clone ended with %d\n%s", run.status, run.log)
	}
}

func TestACleanCloneOfTheSameOriginIsUpdated(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	run := newClone(t, berth.Target{Origin: s.URL, SHA: s.OldSHA})
	for _, step := range []struct {
		target         berth.Target
		depth          int
		branch, commit string
	}{
		{berth.Target{SHA: s.OldSHA}, 100, "main", s.OldSHA},
		{berth.Target{Branch: "main"}, 1, "main", s.Tip},
		{berth.Target{Branch: gitservertest.OldBranch}, 3, gitservertest.OldBranch, s.OldTip},
		{berth.Target{Branch: gitservertest.OldBranch}, 0, gitservertest.OldBranch, s.OldTip},
		{berth.Target{Tag: gitservertest.LightTag, Branch: "work"}, 5, "work", s.Light},
	} {
		run.target, run.depth = step.target, step.depth
		run.target.Kind, run.target.Origin = berth.TargetGit, s.URL
		run.run(t)
		run.wantAt(t, step.branch, step.commit)
	}
	if got := run.git(t, "rev-list", "--count", s.OldTip); got != "65" {
		t.Errorf("after a full fetch the branch has %s commits, want 65", got)
	}

	hook := filepath.Join(run.workspace, ".git/hooks/post-checkout")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch .git/hooked\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run.run(t)
	run.wantAt(t, "work", s.Light)
	if _, err := os.Stat(filepath.Join(run.workspace, ".git/hooked")); err == nil {
		t.Error("a hook was run")
	}

	run.write(t, ".git/info/exclude", "cache\n")
	run.write(t, "cache", "ignored")
	run.write(t, ".git/berth-clone", "updating "+s.URL+" \n")
	run.write(t, ".git/index.lock", "")
	run.write(t, "number", "torn")
	run.run(t)
	if run.status != gitsource.StatusDone || run.read(t, "cache") != "ignored" || run.read(t, "number") != "140\n" {
		t.Errorf("an update that was cut ended with %d, want what is ignored kept\n%s", run.status, run.log)
	}
}

func TestLineEndsThatAttributesWouldChangeAreNoWork(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	run := newClone(t, berth.Target{Origin: s.URL, Branch: gitservertest.LineEndBranch})
	for range 2 {
		run.run(t)
		if run.status != gitsource.StatusDone {
			t.Fatalf("the clone ended with %d\n%s", run.status, run.log)
		}
	}
	if got := run.git(t, "status", "--porcelain"); got != "M crlf.txt" {
		t.Fatalf("git status says %q, want a change", got)
	}
	run.write(t, "number", "mine")
	run.run(t)
	run.wantFailed(t, gitsource.StatusNotOurs, "with changes ( M number)")
}

func TestWorkInACloneIsNotOverwritten(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	for name, c := range map[string]struct {
		change func(*clone)
		named  string
	}{
		"a change":     {func(c *clone) { c.write(t, "number", "mine") }, " M number"},
		"a new file":   {func(c *clone) { c.write(t, "new", "mine") }, "?? new"},
		"a commit":     {func(c *clone) { commit(t, c) }, "HEAD is no longer " + s.Tip},
		"a lost index": {func(c *clone) { _ = os.Remove(filepath.Join(c.workspace, ".git/index")) }, "D  "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newClone(t, berth.Target{Origin: s.URL})
			run.run(t)
			run.wantAt(t, "main", s.Tip)
			c.change(run)
			before := tree(t, run.workspace)
			run.run(t)
			run.wantFailed(t, gitsource.StatusNotOurs, "it is a clone of this origin with changes ("+c.named, "an image without files")
			run.provider = berth.ProviderSSH // on which no image is to be changed
			run.run(t)
			run.wantFailed(t, gitsource.StatusNotOurs, "("+c.named, "name another ssh.working_directory")
			if strings.Contains(run.log, "image") {
				t.Errorf("on a host the log speaks of images:\n%s", run.log)
			}
			if diff := cmp.Diff(before, tree(t, run.workspace)); diff != "" {
				t.Errorf("the workspace changed (-before +after)\n%s", diff)
			}
		})
	}
}

func commit(t *testing.T, c *clone) {
	t.Helper()
	c.write(t, "new", "mine")
	c.git(t, "add", "new")
	c.git(t, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--message=mine")
}

// tree maps the files of a workspace, but the index, which reading may refresh, to
// their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".git/index") {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// kill starts the clone and kills it with all that it started.
func (c *clone) kill(t *testing.T, when <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := c.command(ctx, t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-when:
	case <-ctx.Done():
		t.Error("the moment of the kill did not come")
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

func TestACloneThatIsKilledInTheMiddleOfAPackIsMadeAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	var stalled atomic.Bool
	half := make(chan struct{})
	s := gitservertest.Start(t, gitservertest.Options{Wrap: func(whole http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if stalled.Load() {
				whole.ServeHTTP(w, r)
				return
			}
			whole.ServeHTTP(&stall{ResponseWriter: w, left: 4000, until: r.Context().Done(), reach: func() {
				stalled.Store(true)
				close(half)
			}}, r)
		})
	}})
	run := newClone(t, berth.Target{Origin: s.URL, Branch: "main"})
	run.kill(t, half)
	if got := run.files(t); len(got) != 1 {
		t.Fatalf("the clone was killed with %v in the workspace, want .git alone", got)
	}
	run.run(t)
	run.wantAt(t, "main", s.Tip)
}

// stall lets some bytes of an answer through and then waits until the client is gone.
type stall struct {
	http.ResponseWriter
	left  int // only the pack is longer
	reach func()
	until <-chan struct{}
}

func (s *stall) Write(b []byte) (int, error) {
	if len(b) < s.left {
		s.left -= len(b)
		return s.ResponseWriter.Write(b)
	}
	_, _ = s.ResponseWriter.Write(b[:s.left])
	_ = http.NewResponseController(s.ResponseWriter).Flush()
	s.reach()
	<-s.until
	return 0, http.ErrAbortHandler
}

func TestACloneThatIsKilledAtAnyMomentIsMadeAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	random := rand.New(rand.NewPCG(1, 2))
	run := newClone(t, berth.Target{Origin: s.URL, Tag: gitservertest.AnnotatedTag})
	for range 8 {
		moment := make(chan struct{})
		time.AfterFunc(time.Duration(random.IntN(250))*time.Millisecond, func() { close(moment) })
		run.kill(t, moment)
	}
	run.run(t)
	run.wantAt(t, "main", s.Annotated)
}
