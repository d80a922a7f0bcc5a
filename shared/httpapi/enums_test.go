package httpapi_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

func TestTheValuesOfTheDocumentAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	var codes, kinds []string
	for _, info := range berth.Codes {
		codes = append(codes, string(info.Code))
	}
	for _, kind := range berth.ProviderKinds {
		kinds = append(kinds, string(kind))
	}
	for _, of := range []struct {
		in    reflect.Type
		field string
		want  []string
	}{
		{reflect.TypeFor[httpapi.ProblemDocument](), "Code", codes},
		{reflect.TypeFor[berth.Environment](), "Provider", kinds},
		{reflect.TypeFor[berth.Sandbox](), "Provider", kinds},
	} {
		field, there := of.in.FieldByName(of.field)
		if diff := cmp.Diff(of.want, strings.Split(field.Tag.Get("enum"), ",")); diff != "" || !there {
			t.Errorf("%s.%s (-want +got):\n%s", of.in, of.field, diff)
		}
	}
}
