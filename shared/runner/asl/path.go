package asl

import (
	"maps"
	"regexp"
	"strings"
)

// pathPattern is the subset of JSONPath: the whole, or names behind dots.
var pathPattern = regexp.MustCompile(`^\$(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// contextPaths are the parts of the context object that the subset has.
var contextPaths = []string{contextExecutionName, contextStateName, contextTaskToken}

const (
	contextExecutionName = "$$.Execution.Name"
	contextStateName     = "$$.State.Name"
	contextTaskToken     = "$$.Task.Token"
)

// scope is what paths are looked up in.
type scope struct {
	data    any
	context map[string]string // by context path
}

// find looks a path up; ok is false when nothing is there.
func (s scope) find(path string) (v any, ok bool) {
	if strings.HasPrefix(path, "$$.") {
		v, ok := s.context[path]
		return v, ok
	}
	v = s.data
	for _, name := range names(path) {
		object, isObject := v.(map[string]any)
		if !isObject {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

func names(path string) []string {
	if path == "$" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(path, "$."), ".")
}

// place returns data with v at path; objects on the way are made, and data is
// not changed. ok is false when something else than an object is in the way.
func place(data any, path string, v any) (out any, ok bool) {
	return placeAt(data, names(path), v)
}

func placeAt(data any, path []string, v any) (any, bool) {
	if len(path) == 0 {
		return v, true
	}
	object, isObject := data.(map[string]any)
	if !isObject {
		return nil, false
	}
	inner, there := object[path[0]]
	if !there {
		inner = map[string]any{}
	}
	inner, ok := placeAt(inner, path[1:], v)
	if !ok {
		return nil, false
	}
	object = maps.Clone(object)
	object[path[0]] = inner
	return object, true
}

// fill makes a payload from a template: in objects a key that ends in `.$` has a
// path as its value, everything else stands for itself.
func (s scope) fill(template any) (any, *Error) {
	switch t := template.(type) {
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, value := range t {
			name, isPath := strings.CutSuffix(key, ".$")
			if !isPath {
				v, err := s.fill(value)
				if err != nil {
					return nil, err
				}
				out[key] = v
				continue
			}
			path, _ := value.(string)
			v, ok := s.find(path)
			if !ok {
				return nil, &Error{errParameters, "nothing is at " + path + " for " + key}
			}
			out[name] = v
		}
		return out, nil
	case []any:
		out := make([]any, len(t))
		for i, value := range t {
			v, err := s.fill(value)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	}
	return template, nil
}
