package config

import (
	"maps"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
)

// moved are keys of older documents and of other places, with what to write
// instead. They are taken out of the tree, so that each is told once.
var moved = map[string]string{
	"sandbox":     "is called [run.environment] now: define [environments.<slug>] and select it with id",
	"run.sandbox": "is called [run.environment] now: define [environments.<slug>] and select it with id",
	"environment": "must be below run: write [run.environment], or [environments.<slug>] for a definition",
	"server":      "belongs to the server: it is configured by the options of berth serve",
}

// movedInEnvironment is the same for the tables of an environment.
var movedInEnvironment = map[string]string{
	"cwd":        "belongs to the server: configure it in the server-managed environment, through the environments API or berth env edit",
	"image.ref":  "is called image.docker",
	"snapshot":   "is called daytona.snapshot",
	"dockerfile": "must be below image: write [environments.<slug>.image] dockerfile",
	"preserve":   "must be below lifecycle",
	"auto_stop":  "must be below lifecycle",
}

func (l *layer) checkMoved() { l.takeMoved("", l.doc.Tree, moved) }

// takeMoved removes each moved key that is there and adds its problem.
func (l *layer) takeMoved(table string, tree map[string]any, hints map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(hints)) {
		if take(tree, path) {
			l.add(joinPath(table, path), "%s", hints[path])
		}
	}
}

// take removes a key of one or two parts and reports whether it was there.
func take(tree map[string]any, path string) bool {
	key := path
	for i := range path {
		if path[i] == '.' {
			inner, ok := tree[path[:i]].(map[string]any)
			if !ok {
				return false
			}
			tree, key = inner, path[i+1:]
		}
	}
	_, there := tree[key]
	delete(tree, key)
	return there
}

// checkEnvironmentKeys is checkMoved for one environment table; its id, where
// it is not the selection, is the table's name.
func (l *layer) checkEnvironmentKeys(table string, tree map[string]any, isOverride bool) {
	l.takeMoved(table, tree, movedInEnvironment)
	if _, there := tree["id"]; there && !isOverride {
		l.add(berth.FieldPath(table, "id"), "is the name of the table: leave it out")
		delete(tree, "id")
	}
}
