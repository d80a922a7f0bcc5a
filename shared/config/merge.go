package config

import (
	"maps"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
)

// merger builds one environment out of its layers.
type merger struct {
	tree    map[string]any
	origins origins
}

// merge lays a sparse tree over what is there. Objects merge field by field, and
// with them env and labels by key; everything else is replaced. A layer that
// changes the provider takes the objects of other providers away, since nothing
// else could.
func (m *merger) merge(over map[string]any, from origin) {
	if provider, ok := over["provider"].(string); ok && provider != m.tree["provider"] {
		for _, kind := range berth.ProviderKinds {
			if string(kind) != provider {
				delete(m.tree, string(kind))
				m.origins.drop(string(kind))
			}
		}
	}
	m.tree = m.mergeObject("", m.tree, over, from)
}

func (m *merger) mergeObject(path string, base, over map[string]any, from origin) map[string]any {
	result := maps.Clone(base)
	if result == nil {
		result = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(over)) {
		at := berth.FieldPath(path, key)
		object, ok := over[key].(map[string]any)
		if !ok || at == "image.dockerfile" {
			result[key] = over[key]
			m.origins.drop(at)
			if over[key] != nil {
				m.origins[at] = from
			}
			continue
		}
		old, _ := result[key].(map[string]any)
		result[key] = m.mergeObject(at, old, object, from)
	}
	return result
}
