package httpapi

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// unschooled stands for huma's registry where nobody reads the document: a
// function answers one route, and making the schemas of its types takes most of
// the time in which it is made ready. Nothing at run time goes by them.
type unschooled struct{}

var _ huma.Registry = unschooled{}

// Schema tells texts from all else, as parameters' examples are read by it, and is
// a new one each time: huma fills it in.
func (unschooled) Schema(t reflect.Type, _ bool, _ string) *huma.Schema {
	if t.Kind() == reflect.String {
		return &huma.Schema{Type: huma.TypeString}
	}
	return &huma.Schema{}
}

func (unschooled) SchemaFromRef(string) *huma.Schema { return &huma.Schema{} }

func (unschooled) TypeFromRef(string) reflect.Type { return nil }

func (unschooled) Map() map[string]*huma.Schema { return map[string]*huma.Schema{} }

func (unschooled) RegisterTypeAlias(reflect.Type, reflect.Type) {}
