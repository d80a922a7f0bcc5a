package config

import (
	"encoding/json"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

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
