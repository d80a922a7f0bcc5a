package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

const targetRule = "must be git:ORIGIN[#BRANCH], git (this repository), none or folder:PATH"

// parseTarget reads --target; empty is nil. After git:ORIGIN# stands a branch,
// or branch=, tag= and sha= parts with commas between them.
func (a *app) parseTarget(ctx context.Context, s string) (*berth.Target, error) {
	kind, rest, colon := strings.Cut(s, ":")
	switch {
	case s == "":
		return nil, nil
	case s == "none":
		return &berth.Target{Kind: berth.TargetNone}, nil
	case kind == "folder" && rest != "":
		if !filepath.IsAbs(rest) && !strings.HasPrefix(rest, "/") {
			rest = filepath.Join(a.dir, rest)
		}
		return &berth.Target{Kind: berth.TargetFolder, Path: rest}, nil
	case kind == "git" && (!colon || rest == "" || rest == "."):
		return a.gitTargetHere(ctx)
	case kind == "git":
		return parseGitTarget(rest)
	}
	return nil, berth.FieldErrorf(berth.CodeInvalid, "--target", "%s", targetRule)
}

// gitTargetHere is the current repository, which must be one with an origin.
func (a *app) gitTargetHere(ctx context.Context) (*berth.Target, error) {
	t, err := a.repositoryTarget(ctx, ".")
	if err == nil && t.Kind != berth.TargetGit {
		e := berth.FieldErrorf(berth.CodeInvalid, "--target", "%s is in no git repository with an origin and a commit", a.dir)
		e.Remediation = "name the origin: --target git:https://github.com/OWNER/REPOSITORY#BRANCH"
		return nil, e
	}
	return t, err
}

func parseGitTarget(s string) (*berth.Target, error) {
	origin, revision, _ := strings.Cut(s, "#")
	t := &berth.Target{Kind: berth.TargetGit, Origin: origin}
	for part := range strings.SplitSeq(revision, ",") {
		key, value, named := strings.Cut(part, "=")
		switch {
		case part == "":
		case !named:
			t.Branch = part
		case key == "branch":
			t.Branch = value
		case key == "tag":
			t.Tag = value
		case key == "sha":
			t.SHA = strings.ToLower(value)
		default:
			return nil, berth.FieldErrorf(berth.CodeInvalid, "--target", "%q is none of branch, tag and sha", key)
		}
	}
	if err := berth.Invalid(berth.ValidateTarget(*t)); err != nil {
		return nil, err
	}
	return t, nil
}
