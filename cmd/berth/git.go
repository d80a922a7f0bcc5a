package main

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const gitLimit = 20 * time.Second

// repositoryTarget is the code that is checked out in dir: origin, branch and
// commit of its repository, or none when there is no such thing to fetch. A
// commit that the origin does not have is an error.
func (a *app) repositoryTarget(ctx context.Context, dir string) (*berth.Target, error) {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	none := &berth.Target{Kind: berth.TargetNone}
	sha, err := a.git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil || sha == "" {
		return none, err
	}
	origin, err := a.git(ctx, dir, "remote", "get-url", "origin")
	if err != nil {
		return none, err
	}
	if origin == "" {
		a.note("this repository has no remote named origin, so the run starts without code")
		return none, nil
	}
	branches, err := a.git(ctx, dir, "branch", "-r", "--contains", "HEAD", "--format=%(refname:lstrip=2)")
	if err != nil {
		return nil, err
	}
	published := originBranches(branches)
	if len(published) == 0 {
		return nil, unpublished(sha, a.withoutCredentials(origin))
	}
	branch, err := a.git(ctx, dir, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return nil, err
	}
	if branch == "" { // a detached HEAD
		branch = published[0]
	}
	if changes, err := a.git(ctx, dir, "status", "--porcelain"); err == nil && changes != "" {
		a.note("warning: the working tree has changes that are not committed; the run does not see them")
	}
	return &berth.Target{Kind: berth.TargetGit, Origin: a.withoutCredentials(origin), Branch: branch, SHA: sha}, nil
}

// unpublished is the error of a commit that this repository does not know on origin.
// An origin that no sandbox can fetch is told at once: to push would not help.
func unpublished(sha, origin string) error {
	e := berth.FieldErrorf(berth.CodeInvalid, "target", "commit %s is on no branch of origin, so the run could not fetch it", sha[:12])
	e.Remediation = "push it (or git fetch, if it is there already), or run without code: --target none"
	if _, err := berth.CanonicalOrigin(origin); err != nil {
		e.Message += "; and origin, " + origin + ", " + err.Error()
		e.Remediation = "push it to a host and make that origin (git remote set-url origin https://HOST/OWNER/REPOSITORY), or run without code: --target none"
	}
	return e
}

// originBranches are the branches of origin among remote branches.
func originBranches(lines string) []string {
	var names []string
	for line := range strings.SplitSeq(lines, "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "origin/"); ok && name != "HEAD" {
			names = append(names, name)
		}
	}
	return names
}

// withoutCredentials takes a password off an origin's URL: it would be stored
// with the run.
func (a *app) withoutCredentials(origin string) string {
	u, err := url.Parse(origin)
	if err != nil || u.User == nil || u.Host == "" {
		return origin
	}
	if _, has := u.User.Password(); !has && u.Scheme != "https" && u.Scheme != "http" {
		return origin // the user of an SSH URL
	}
	a.note("warning: the origin's URL holds credentials, which are not sent")
	u.User = nil
	return u.String()
}

// git runs git in dir and returns its output. A command that ends with another
// status than 0 says "no" with empty output, as does a machine without git. A
// repository's own programs are kept from running.
func (a *app) git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = a.dir
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", &berth.Error{
			Code: berth.CodeTimedOut, Message: "git did not answer", Cause: ctx.Err(),
			Remediation: "name the target: --target none, or git:ORIGIN#BRANCH",
		}
	case errors.As(err, &exit), errors.Is(err, exec.ErrNotFound):
		return "", nil
	case err != nil:
		return "", local(err, "running git")
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
