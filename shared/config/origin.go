package config

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// The layers that are no files, as sources name them.
const (
	sourceBuiltIn = "built-in"
	sourceServer  = "server"
	sourceRequest = "request"
)

// origin is where a field of an environment was set.
type origin struct {
	source string // a constant above, or empty for a file
	layer  *layer
	table  string // in the file, such as run.environment
}

// origins holds the origin of each leaf of an environment, by its path.
type origins map[string]origin

// find is the origin of a field, or of the nearest thing around it that has one,
// itself or by one of its fields.
func (o origins) find(path string) (origin, bool) {
	for path != "" {
		if found, ok := o[path]; ok {
			return found, true
		}
		first := ""
		for p := range o {
			if covers(path, p) && (first == "" || p < first) {
				first = p
			}
		}
		if first != "" {
			return o[first], true
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return origin{}, false
}

// location is the place of a field for people: the line of the file that set
// it, or else the field below `environment`.
func (o origins) location(path string) string {
	if found, ok := o.find(path); ok && found.layer != nil {
		return found.layer.at(joinPath(found.table, path))
	}
	return joinPath("environment", path)
}

// sources says of each leaf which layer set it.
func (o origins) sources() map[string]string {
	texts := make(map[string]string, len(o))
	for path, from := range o {
		texts[path] = from.text(path)
	}
	return texts
}

func (o origin) text(path string) string {
	if o.layer == nil {
		return o.source
	}
	return fmt.Sprintf("%s (%s:%d)", o.layer.kind, o.layer.path, o.layer.doc.Line(joinPath(o.table, path)))
}

// drop forgets everything at and below a path.
func (o origins) drop(path string) {
	for p := range o {
		if covers(path, p) {
			delete(o, p)
		}
	}
}

// placed moves problems about an environment to where its fields were set.
func (o origins) placed(problems []berth.Problem) []berth.Problem {
	var moved []berth.Problem
	for _, p := range problems {
		if _, rest := p.Rest(); rest {
			moved = append(moved, p)
			continue
		}
		moved = append(moved, berth.Problem{Location: o.location(p.Location), Message: p.Message})
	}
	return moved
}
