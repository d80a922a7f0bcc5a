package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// Catalogue reads the server-managed environments. The synthetic one, local, is
// added by Resolve when the policy has the provider.
type Catalogue struct {
	Find func(berth.EnvironmentID) (e berth.Environment, found bool, err error)
	// IDs lists what there is, for the message about an unknown environment.
	IDs func() ([]berth.EnvironmentID, error)
}

const maxListedEnvironments = 20

// unknownEnvironment is not_found with what is known.
func unknownEnvironment(in Input, layers []*layer, id berth.EnvironmentID, named string) error {
	ids, err := in.Catalogue.IDs()
	if err != nil {
		return berth.Wrap(err, "listing environments")
	}
	known := map[string]bool{}
	for _, id := range ids {
		known[string(id)] = true
	}
	if in.Policy.Enabled(berth.ProviderLocal) {
		known[string(berth.LocalEnvironmentID)] = true
	}
	for _, l := range layers {
		for id := range l.environments {
			known[string(id)] = true
		}
	}
	e := berth.FieldErrorf(berth.CodeNotFound, named, "environment %s does not exist: %s", id, listed(slices.Sorted(maps.Keys(known)), string(id)))
	e.Remediation = "Create it, or choose another with --environment or [run.environment] id."
	return e
}

func listed(known []string, wanted string) string {
	if len(known) == 0 {
		return "there is none on this server"
	}
	text := ""
	if near := strict.Nearest(wanted, known); near != "" {
		text = "did you mean " + near + "? "
	}
	rest := ""
	if more := len(known) - maxListedEnvironments; more > 0 {
		known, rest = known[:maxListedEnvironments], fmt.Sprintf(" and %d more", more)
	}
	return text + "there are " + strings.Join(known, ", ") + rest
}
