package httpapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

func TestTheCheckedInDocumentIsWhatTheHandlersSay(t *testing.T) {
	t.Parallel()
	want, err := httpapi.Document().YAML()
	must(t, err)
	got, err := os.ReadFile("../../docs/openapi.yaml")
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Error("docs/openapi.yaml is stale: run `go run ./scripts/genopenapi` at the root of the repository")
	}
}

func TestEveryOperationIsDescribed(t *testing.T) {
	t.Parallel()
	doc := httpapi.Document()
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			route, _ := httpapi.FindRoute(op.OperationID)
			if op.Summary == "" || strings.HasSuffix(op.Summary, ".") || len(op.Tags) != 1 {
				t.Errorf("%s: summary %q, tags %v", op.OperationID, op.Summary, op.Tags)
			}
			if (op.RequestBody != nil) != (route.Takes != "") {
				t.Errorf("%s: a request body in the document is %v, the route takes %q", op.OperationID, op.RequestBody != nil, route.Takes)
			}
			for _, name := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(path, -1) {
				found := false
				for _, p := range op.Parameters {
					found = found || (p.In == "path" && p.Name == name[1])
				}
				if !found {
					t.Errorf("%s does not describe its parameter %s", op.OperationID, name[1])
				}
			}
			ok := 0
			for status, r := range op.Responses {
				if status < "3" {
					ok++
				}
				if status >= "4" && !strings.HasPrefix(r.Ref, "#/components/responses/") {
					t.Errorf("%s: status %s is no problem", op.OperationID, status)
				}
			}
			if ok == 0 || op.Responses["500"] == nil {
				t.Errorf("%s lacks a success or the error 500", op.OperationID)
			}
		}
	}
}

func TestEveryReferenceOfTheDocumentResolves(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(httpapi.Document())
	must(t, err)
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	must(t, json.Unmarshal(raw, &doc))
	refs := regexp.MustCompile(`"\$ref":"#/components/schemas/([^"]+)"`).FindAllSubmatch(raw, -1)
	if len(refs) < 20 {
		t.Fatalf("the document has %d references", len(refs))
	}
	for _, ref := range refs {
		if doc.Components.Schemas[string(ref[1])] == nil {
			t.Errorf("the schema %s is not there", ref[1])
		}
	}
	if bytes.Contains(raw, []byte("$schema")) {
		t.Error("the document speaks of $schema")
	}
}

func TestTheDocumentKnowsEveryCode(t *testing.T) {
	t.Parallel()
	var want []any
	for _, row := range berth.Codes {
		want = append(want, string(row.Code))
	}
	if diff := cmp.Diff(want, httpapi.Document().Components.Schemas.Map()["ProblemDocument"].Properties["code"].Enum); diff != "" {
		t.Errorf("codes (-table +document):\n%s", diff)
	}
}

func TestTheDocumentSaysWhatIsNull(t *testing.T) {
	t.Parallel()
	schemas := httpapi.Document().Components.Schemas.Map()
	if exit := schemas["Run"].Properties["exit"]; len(exit.AnyOf) != 2 || exit.AnyOf[1].Type != "null" {
		t.Errorf("a run's exit is described as %+v", exit)
	}
	if stages := schemas["Run"].Properties["stages"]; stages.Nullable {
		t.Error("a run's stages are described as null at times")
	}
	if schemas["ErrorModel"] != nil {
		t.Error("huma's own errors are described")
	}
	if r := schemas["EnvironmentRequest"]; r == nil || len(r.Required) != 0 || len(schemas["Environment"].Required) == 0 {
		t.Error("an environment's body must leave fields out, and its answer has them all")
	}
}
