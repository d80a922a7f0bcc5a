package config

import (
	"encoding/json"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// ParseEnvironment reads the JSON of an environment. Keys that are absent take
// their defaults; the result is normalised. Errors: malformed; invalid, with
// every problem.
func ParseEnvironment(data []byte) (berth.Environment, error) {
	tree, problems, err := strict.Tree(data)
	if err != nil {
		return berth.Environment{}, err
	}
	return decodeEnvironment(tree, problems)
}

// PatchEnvironment applies a JSON merge patch (RFC 7396) to an environment, as
// ParseEnvironment reads it. A null takes a field back to its default. Errors:
// malformed; invalid, also for a change of the id.
func PatchEnvironment(current berth.Environment, patch []byte) (berth.Environment, error) {
	changes, problems, err := strict.Tree(patch)
	if err != nil {
		return berth.Environment{}, err
	}
	if _, ok := changes.(map[string]any); !ok {
		return berth.Environment{}, berth.Errorf(berth.CodeInvalid, "a merge patch must be an object")
	}
	tree, err := environmentTree(current)
	if err != nil {
		return berth.Environment{}, err
	}
	e, err := decodeEnvironment(strict.MergePatch(tree, changes), problems)
	if err == nil && e.ID != current.ID {
		return berth.Environment{}, berth.FieldErrorf(berth.CodeInvalid, "id", "cannot be changed: create another environment")
	}
	return e, err
}

func decodeEnvironment(tree any, problems []berth.Problem) (berth.Environment, error) {
	var p berth.Problems
	p.Add(problems...)
	e := berth.EnvironmentDefaults()
	found := checkDockerfileBody(tree)
	found = append(found, strict.Decode(tree, &e, "")...)
	p.Add(found...)
	p.Add(without(berth.ValidateEnvironment(e), found)...)
	if err := berth.Invalid(p.List()); err != nil {
		return berth.Environment{}, err
	}
	return berth.NormalizeEnvironment(e), nil
}

// environmentTree is an environment as a tree, in its stored form.
func environmentTree(e berth.Environment) (map[string]any, error) {
	data, err := json.Marshal(berth.NormalizeEnvironment(e))
	if err != nil {
		return nil, fmt.Errorf("writing environment %s: %w", e.ID, err)
	}
	tree, _, err := strict.Tree(data)
	object, ok := tree.(map[string]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("reading environment %s back: %w", e.ID, err)
	}
	return object, nil
}
