package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

// repository is a folder with git in it, apart from the user's settings.
type repository struct {
	t   *testing.T
	dir string
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// publishedRepository is a clone whose commit is on its origin.
func publishedRepository(t *testing.T) (r repository, origin, sha string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed for these tests")
	}
	origin = t.TempDir()
	repository{t, origin}.git("init", "-q", "--bare", "-b", "main")
	r = repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.git("remote", "add", "origin", origin)
	r.git("commit", "-q", "--allow-empty", "-m", "first")
	r.git("push", "-q", "origin", "main")
	return r, origin, r.git("rev-parse", "HEAD")
}

func (r repository) target() (*berth.Target, string, error) {
	var stderr bytes.Buffer
	a := &app{dir: r.dir, stderr: &stderr}
	target, err := a.repositoryTarget(context.Background(), ".")
	return target, stderr.String(), err
}

func TestRepositoryTargetIsOriginBranchAndCommit(t *testing.T) {
	t.Parallel()
	r, origin, sha := publishedRepository(t)
	want := &berth.Target{Kind: berth.TargetGit, Origin: origin, Branch: "main", SHA: sha}
	got, stderr, err := r.target()
	if diff := cmp.Diff(want, got); err != nil || diff != "" || stderr != "" {
		t.Errorf("target (-want +got):\n%s%v %q", diff, err, stderr)
	}

	r.git("checkout", "-q", "--detach")
	if got, _, err := r.target(); err != nil || got.Branch != "main" {
		t.Errorf("a detached HEAD gives %+v, %v; want the branch that holds it", got, err)
	}
}

func TestRepositoryTargetWarnsOfChanges(t *testing.T) {
	t.Parallel()
	r, _, _ := publishedRepository(t)
	if err := os.WriteFile(r.dir+"/new", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr, err := r.target()
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, "stderr", stderr, "changes that are not committed")
}

func TestRepositoryTargetRefusesACommitThatTheOriginDoesNotHave(t *testing.T) {
	t.Parallel()
	r, _, _ := publishedRepository(t)
	r.git("commit", "-q", "--allow-empty", "-m", "second")
	_, _, err := r.target()
	if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "on no branch of origin") {
		t.Errorf("target = %v, want invalid", err)
	}

	var e *berth.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "is no URL of a repository") || !strings.Contains(e.Remediation, "git remote set-url origin") {
		t.Errorf("target with an origin that is a path = %v; want it told", err)
	}
	r.git("remote", "set-url", "origin", "https://u:hunter22@example.com/o/r.git")
	if _, _, err := r.target(); !errors.As(err, &e) || !strings.Contains(e.Remediation, "git fetch") || strings.Contains(e.Message, "example.com") {
		t.Errorf("target with a commit that may only not be fetched = %v; want git fetch named", err)
	}

	// On another remote it does not help: the run fetches from origin.
	fork := t.TempDir()
	repository{t, fork}.git("init", "-q", "--bare")
	r.git("remote", "add", "fork", fork)
	r.git("push", "-q", "fork", "main")
	if _, _, err := r.target(); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("target with the commit on another remote = %v, want invalid", err)
	}
}

func TestRepositoryTargetIsNoneWithoutSomethingToFetch(t *testing.T) {
	t.Parallel()
	bare := repository{t, t.TempDir()}
	empty := repository{t, t.TempDir()}
	empty.git("init", "-q")
	alone := repository{t, t.TempDir()}
	alone.git("init", "-q")
	alone.git("commit", "-q", "--allow-empty", "-m", "first")
	for name, r := range map[string]repository{"no repository": bare, "no commit": empty, "no origin": alone} {
		got, _, err := r.target()
		if err != nil || got.Kind != berth.TargetNone {
			t.Errorf("%s: target = %+v, %v; want none", name, got, err)
		}
	}
}

func TestCredentialsOfAnOriginStayHere(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"https://user:hunter22@h/o/r.git": "https://h/o/r.git",
		"https://hunter22@h/o/r.git":      "https://h/o/r.git",
		"ssh://git@h/o/r.git":             "ssh://git@h/o/r.git",
		"git@h:o/r.git":                   "git@h:o/r.git",
		"https://h/o/r.git":               "https://h/o/r.git",
		"/srv/r.git":                      "/srv/r.git",
	} {
		var stderr bytes.Buffer
		a := &app{stderr: &stderr}
		if got := a.withoutCredentials(origin); got != want {
			t.Errorf("withoutCredentials(%s) = %s, want %s", origin, got, want)
		}
		mustNotContain(t, "stderr", stderr.String(), "hunter22")
	}
}

func TestRunOffThisMachineSendsTheRepository(t *testing.T) {
	t.Parallel()
	r, origin, sha := publishedRepository(t)
	f := newFake(t)
	f.putEnvironment(map[string]any{"id": "ci", "provider": "docker", "image": map[string]any{"docker": "x"}})
	f.plan = commandRun(berth.RunSucceeded, exited(0))
	c := newCLI(t, f.URL)
	c.dir = r.dir
	c.ok("run", "-e", "ci", "--", "true")
	want := &berth.Target{Kind: berth.TargetGit, Origin: origin, Branch: "main", SHA: sha}
	if diff := cmp.Diff(want, f.runRequest.Target); diff != "" {
		t.Errorf("target on docker (-want +got):\n%s", diff)
	}
	c.ok("run", "-e", "local", "--", "true")
	if f.runRequest.Target != nil || f.runRequest.SourceDirectory != r.dir {
		t.Errorf("on local the target is %+v and the folder %q, want none and %q", f.runRequest.Target, f.runRequest.SourceDirectory, r.dir)
	}
}
