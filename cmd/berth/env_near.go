package main

import (
	"context"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/strict"
)

// nearEnvironment says which environment was perhaps meant, of those that there
// are, where there is none of the name. Other errors are passed on, and so is what
// came of a request that names none.
func nearEnvironment(ctx context.Context, c *client.Client, id berth.EnvironmentID, err error) error {
	if berth.CodeOf(err) != berth.CodeNotFound || id == "" {
		return err
	}
	var names []string
	for e, listErr := range client.All(ctx, c.ListEnvironments) {
		if listErr != nil {
			return err // what is known is that there is none
		}
		if e.ID == id {
			return err // it is something else that does not exist
		}
		names = append(names, string(e.ID))
	}
	if near := strict.Nearest(string(id), names); near != "" {
		return withRemedy(err, berth.CodeNotFound, "did you mean "+near+"? `berth env list` shows those that there are")
	}
	return err
}
