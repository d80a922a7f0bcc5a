package httpapi

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
)

const schemaPrefix = "#/components/schemas/"

// tidySchemas corrects what huma cannot say or says too much: pointers to
// structs that are null when absent, lists that are never null, and its own
// form of errors, which no answer has.
func tidySchemas(registry huma.Registry) {
	all := registry.Map()
	delete(all, "ErrorModel")
	delete(all, "ErrorDetail")
	for name, schema := range all {
		t := registry.TypeFromRef(schemaPrefix + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, field := range reflect.VisibleFields(t) {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if p := schema.Properties[name]; p != nil {
				schema.Properties[name] = tidyProperty(p, field.Type, strings.Contains(options, "omitempty"))
			}
		}
		if t == reflect.TypeFor[berth.Host]() {
			beforeJoining(schema)
		}
	}
}

// requestName is what the schema of a body is called in which every field may be
// left out.
func requestName(body any) string {
	return strings.TrimSuffix(typeOf(body).Name(), "Request") + "Request"
}

// beforeJoining widens what a host says of its machine: it has said nothing yet.
func beforeJoining(host *huma.Schema) {
	none := 0.0
	for _, name := range []string{"cpu", "memory_bytes"} {
		host.Properties[name].Minimum = &none
	}
	if p := host.Properties["architecture"]; !slices.Contains(p.Enum, any("")) {
		p.Enum = append(p.Enum, "")
	}
}

func tidyProperty(p *huma.Schema, t reflect.Type, mayBeAbsent bool) *huma.Schema {
	switch {
	case p.Type == huma.TypeArray:
		p.Nullable = false
	case p.Ref != "" && t.Kind() == reflect.Pointer && !mayBeAbsent && len(p.AnyOf) == 0:
		return &huma.Schema{
			Description: p.Description,
			AnyOf:       []*huma.Schema{{Ref: p.Ref}, {Type: "null"}},
		}
	}
	return p
}

// optionalSchema registers the schema of a body in which every field may be left
// out, under a name of its own.
func optionalSchema(registry huma.Registry, name string, of *huma.Schema) *huma.Schema {
	all := registry.Map()
	if all[name] == nil || of.Ref == schemaPrefix+name {
		all[name] = withoutRequired(registry, of)
	}
	return &huma.Schema{Ref: schemaPrefix + name}
}

// patchSchema registers the schema of a merge patch: whatever may be left out may
// also be null, which removes it.
func patchSchema(registry huma.Registry, name string, of *huma.Schema) *huma.Schema {
	patch := removable(withoutRequired(registry, of))
	patch.Nullable = false
	registry.Map()[name] = patch
	return &huma.Schema{Ref: schemaPrefix + name}
}

func removable(s *huma.Schema) *huma.Schema {
	out := *s
	if len(out.AnyOf) == 0 { // else null is among it
		out.Nullable = true
	}
	if len(out.Enum) > 0 {
		out.Enum = append(slices.Clone(out.Enum), nil)
	}
	if len(out.Properties) > 0 {
		out.Properties = map[string]*huma.Schema{}
		for name, p := range s.Properties {
			out.Properties[name] = removable(p)
		}
	}
	if values, ok := out.AdditionalProperties.(*huma.Schema); ok {
		out.AdditionalProperties = removable(values)
	}
	return &out
}

func withoutRequired(registry huma.Registry, s *huma.Schema) *huma.Schema {
	description := s.Description
	if s.Ref != "" {
		s = registry.SchemaFromRef(s.Ref)
	}
	out := *s
	out.Required = nil
	if description != "" {
		out.Description = description
	}
	if len(s.Properties) > 0 {
		out.Properties = map[string]*huma.Schema{}
		for name, p := range s.Properties {
			out.Properties[name] = withoutRequired(registry, p)
		}
	}
	if out.Type == huma.TypeArray {
		out.Nullable = false
	}
	return &out
}
