package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

// published is the checked-in document as a generator of clients loads it.
var published = sync.OnceValues(func() (*openapi3.T, error) {
	raw, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(raw)
})

func TestTheDocumentIsOneThatGeneratorsTake(t *testing.T) {
	t.Parallel()
	doc, err := published()
	must(t, err)
	must(t, doc.Validate(t.Context()))
	seen := map[string]bool{}
	for _, route := range httpapi.Routes {
		op := doc.Paths.Value(route.Path).GetOperation(route.Method)
		if op == nil || op.OperationID != route.ID || seen[route.ID] {
			t.Errorf("%s %s is not described as %s alone", route.Method, route.Path, route.ID)
		}
		seen[route.ID] = true
	}
}

// holding is do, which holds every exchange to what the document says of its
// operation: the statuses, media types and codes, the form of answers, and that of
// bodies that were taken.
func holding(t *testing.T, do httpapitest.Do) httpapitest.Do {
	t.Helper()
	doc, err := published()
	must(t, err)
	return func(r httpapitest.Request) httpapitest.Response {
		t.Helper()
		resp := do(r)
		if op := operationOf(doc, r); op != nil {
			if err := conforms(doc, op, r, resp); err != nil {
				t.Errorf("%s %s is not what the document says of %s: %v\n%.600s", r.Method, r.Path, op.OperationID, err, resp.Body)
			}
		}
		return resp
	}
}

// operationOf is what the document has of a request; nil for paths that no route has.
func operationOf(doc *openapi3.T, r httpapitest.Request) *openapi3.Operation {
	u, err := url.Parse(r.Path)
	if err != nil || path.Clean(u.Path) != u.Path {
		return nil
	}
	_, found := served.mux.Handler(&http.Request{Method: r.Method, URL: u, Host: httpapitest.Host})
	for _, route := range httpapi.Routes {
		if pattern(route) == found {
			return doc.Paths.Value(route.Path).GetOperation(route.Method)
		}
	}
	return nil
}

func conforms(doc *openapi3.T, op *openapi3.Operation, r httpapitest.Request, resp httpapitest.Response) error {
	described := op.Responses.Value(strconv.Itoa(resp.Status))
	if described == nil {
		return fmt.Errorf("status %d is not described", resp.Status)
	}
	answer := described.Value
	for name := range resp.Header {
		own := strings.HasPrefix(name, "Berth-") || slices.Contains([]string{"Etag", "Location", "Idempotent-Replayed", "Retry-After", "Www-Authenticate"}, name)
		if own && !slices.ContainsFunc(slices.Collect(maps.Keys(answer.Headers)), func(d string) bool { return strings.EqualFold(d, name) }) {
			return fmt.Errorf("the header %s is not described", name)
		}
	}
	if r.Method == http.MethodHead {
		return nil
	}
	if len(answer.Content) == 0 {
		if len(resp.Body) > 0 {
			return fmt.Errorf("status %d has a body", resp.Status)
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || answer.Content[media] == nil {
		return fmt.Errorf("status %d comes as %q: %w", resp.Status, media, err)
	}
	if !strings.HasSuffix(media, "json") {
		return nil
	}
	body, err := valid(doc, answer.Content[media].Schema.Value, resp.Body)
	if err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	if resp.Status >= 400 {
		code := fmt.Sprint(body.(map[string]any)["code"])
		if words := strings.Fields(*answer.Description); !slices.Contains(words, code) {
			return fmt.Errorf("the code %s is not described under %d", code, resp.Status)
		}
		return nil
	}
	if op.RequestBody == nil || len(r.Body) == 0 {
		return nil
	}
	for media, content := range op.RequestBody.Value.Content {
		if !strings.HasSuffix(media, "json") {
			continue
		}
		if _, err := valid(doc, content.Schema.Value, r.Body); err != nil {
			return fmt.Errorf("the body that was taken: %w", err)
		}
	}
	return nil
}

func valid(doc *openapi3.T, schema *openapi3.Schema, raw []byte) (any, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return v, doc.ValidateSchemaJSON(schema, v, openapi3.MultiErrors())
}
