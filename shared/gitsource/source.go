// Package gitsource says how a sandbox fetches the code of a git target: one bash
// script that runs in the workspace, with the target as its arguments. Nothing of
// the server is needed but the command that CloneCommand returns.
package gitsource

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// The parts of the script, in their order.
var (
	//go:embed script/target.bash
	targetPart string
	//go:embed script/isolation.bash
	isolationPart string
	//go:embed script/remote.bash
	remotePart string
	//go:embed script/workspace.bash
	workspacePart string
	//go:embed script/fetching.bash
	fetchingPart string
	//go:embed script/branch.bash
	branchPart string
	//go:embed script/main.bash
	mainPart string
)

// Source makes the commands that fetch code. The zero value fetches what can be
// read without a credential.
type Source struct {
	// Credentials gives what private repositories need; nil is none.
	Credentials Credentials
	// retryPauses are the seconds before each further try when the network fails.
	retryPauses []int
}

var defaultPauses = []int{2, 5, 10}

// CloneCommand returns the command that fetches def's target into the workspace,
// without an id. It ends with a [Status]. Env and Mask hold the credential, if
// one is needed; nothing else does. Errors: invalid for a target that is no valid
// git target; those of Credentials.
func (s Source) CloneCommand(ctx context.Context, def berth.Definition) (berth.CommandSpec, error) {
	target := def.Target
	if target.Kind != berth.TargetGit {
		return berth.CommandSpec{}, berth.FieldErrorf(berth.CodeInvalid, "target.kind", "%q is no git target", target.Kind)
	}
	if faults := berth.ValidateTarget(target); len(faults) > 0 {
		return berth.CommandSpec{}, &berth.Error{Code: berth.CodeInvalid, Message: "the target is not valid", Problems: faults}
	}
	if def.Clone.Depth < 0 {
		return berth.CommandSpec{}, berth.FieldErrorf(berth.CodeInvalid, "clone.depth", "must not be negative")
	}
	target = berth.NormalizeTarget(target)
	spec := berth.CommandSpec{}
	credential, err := s.credential(ctx, target.Origin)
	if err != nil {
		return spec, err
	}
	private := "no"
	if credential != nil {
		private = "yes"
		if credential.New {
			private = "new"
		}
		spec.Env = map[string]string{userVariable: credential.User, passwordVariable: string(credential.Password.Reveal())}
		spec.Mask = []berth.SecretValue{credential.Password}
	}
	// With -p bash takes no functions, start-up file or options from the variables
	// that the image or the environment sets.
	spec.Argv = []string{
		"/bin/bash", "-p", "-c", script(), "berth-clone",
		target.Origin, target.Branch, target.Tag, target.SHA, strconv.Itoa(def.Clone.Depth), private, s.pauses(),
		string(def.Environment.Provider),
	}
	return spec, nil
}

func script() string {
	return strings.Join([]string{targetPart, isolationPart, remotePart, workspacePart, fetchingPart, branchPart, mainPart}, "\n")
}

func (s Source) pauses() string {
	pauses := s.retryPauses
	if pauses == nil {
		pauses = defaultPauses
	}
	var texts []string
	for _, p := range pauses {
		texts = append(texts, strconv.Itoa(p))
	}
	return strings.Join(texts, ",")
}
