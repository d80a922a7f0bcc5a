package strict

import (
	"reflect"
	"strings"
	"sync"
)

type field struct {
	index []int
	enum  string
}

var fieldCache sync.Map // reflect.Type → map[string]field

// fieldsOf lists the keys of a struct by its json tags; embedded structs
// without a tag give theirs.
func fieldsOf(t reflect.Type) map[string]field {
	if cached, ok := fieldCache.Load(t); ok {
		fields, _ := cached.(map[string]field)
		return fields
	}
	fields := map[string]field{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct
		if !f.IsExported() || name == "-" || embedded {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if _, outer := fields[name]; !outer || len(f.Index) == 1 {
			fields[name] = field{f.Index, f.Tag.Get("enum")}
		}
	}
	fieldCache.Store(t, fields)
	return fields
}
