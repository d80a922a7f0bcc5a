package config

import (
	"maps"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// readCatalogue checks [environments.<slug>].
func (l *layer) readCatalogue() {
	tables, ok := l.file.Environments.(map[string]any)
	if !ok {
		if l.file.Environments != nil {
			l.add("environments", "must be tables, [environments.<slug>]")
		}
		return
	}
	l.environments = map[berth.EnvironmentID]map[string]any{}
	for _, slug := range slices.Sorted(maps.Keys(tables)) {
		table := berth.FieldPath("environments", slug)
		id, err := berth.ParseEnvironmentID(slug)
		if err != nil {
			l.problems.AddError(l.at(table), err)
			continue
		}
		tree, ok := tables[slug].(map[string]any)
		if !ok {
			l.add(table, "must be a table")
			continue
		}
		l.checkEnvironmentKeys(table, tree, false)
		if e := l.readEnvironment(table, tree); id == berth.LocalEnvironmentID && e.Provider != "" && e.Provider != berth.ProviderLocal {
			l.add(table+".provider", "must be local: the id local is reserved for the local provider")
		}
		l.environments[id] = tree
	}
}

// readOverride checks [run.environment]: the selection and the sparse overrides.
func (l *layer) readOverride() {
	const table = "run.environment"
	tree, ok := l.file.Run.Environment.(map[string]any)
	if !ok {
		if l.file.Run.Environment != nil {
			l.add(table, "must be a table with an id: [run.environment]")
		}
		return
	}
	l.checkEnvironmentKeys(table, tree, true)
	if id, there := tree["id"]; there {
		slug, ok := id.(string)
		parsed, err := berth.ParseEnvironmentID(slug)
		switch {
		case !ok:
			l.add(table+".id", "must be a string")
		case err != nil:
			l.problems.AddError(l.at(table+".id"), err)
		}
		l.selected = parsed
		delete(tree, "id")
	}
	l.readEnvironment(table, tree)
	l.override = tree
}

// readEnvironment checks one sparse environment and brings its tree into the
// form that merges: Dockerfiles inline, network mode and list together.
func (l *layer) readEnvironment(table string, tree map[string]any) berth.Environment {
	l.inlineDockerfile(table, tree)
	completeNetwork(tree)
	var e berth.Environment
	problems := strict.Decode(tree, &e, "")
	l.addAll(table, problems)
	l.addAll(table, without(berth.ValidateLayer(e), problems))
	return e
}

// completeNetwork makes mode and allow override together: a list alone means
// that it is to be used, a mode without list means that the list below it is not.
func completeNetwork(tree map[string]any) {
	network, ok := tree["network"].(map[string]any)
	if !ok {
		return
	}
	mode, hasMode := network["mode"]
	allow, hasAllow := network["allow"]
	list, _ := allow.([]any)
	switch {
	case !hasMode && len(list) > 0:
		network["mode"] = string(berth.NetworkCIDRAllowList)
	case !hasAllow && (mode == string(berth.NetworkAllowAll) || mode == string(berth.NetworkBlock)):
		network["allow"] = []any{}
	}
}

// without drops the problems that lie at or below a place which has one already.
func without(problems, already []berth.Problem) []berth.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p berth.Problem) bool {
		return slices.ContainsFunc(already, func(a berth.Problem) bool { return covers(a.Location, p.Location) })
	})
}

// covers reports whether the field inner is outer or lies in it.
func covers(outer, inner string) bool {
	if len(inner) < len(outer) || inner[:len(outer)] != outer {
		return false
	}
	return len(inner) == len(outer) || outer == "" || inner[len(outer)] == '.' || inner[len(outer)] == '['
}
