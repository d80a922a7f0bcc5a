package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// described lists the operations of an OpenAPI document as `id method path`.
func described(doc *huma.OpenAPI) []string {
	var all []string
	for path, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete, item.Head, item.Options, item.Trace} {
			if op != nil {
				all = append(all, op.OperationID+" "+op.Method+" "+path)
			}
		}
	}
	slices.Sort(all)
	return all
}

func table(keep func(httpapi.Route) bool) []string {
	var all []string
	for _, r := range httpapi.Routes {
		if keep(r) {
			all = append(all, r.ID+" "+r.Method+" "+r.Path)
		}
	}
	slices.Sort(all)
	return all
}

func TestTheRegisteredOperationsAreThoseOfTheRouteTable(t *testing.T) {
	t.Parallel()
	embedded := newFixture(t)
	if diff := cmp.Diff(table(func(httpapi.Route) bool { return true }), described(embedded.api.OpenAPI())); diff != "" {
		t.Errorf("embedded operations (-table +registered):\n%s", diff)
	}
	plain := newFixture(t, func(cfg *httpapi.Config) { cfg.Embedded = false })
	if diff := cmp.Diff(table(func(r httpapi.Route) bool { return !r.Embedded }), described(plain.api.OpenAPI())); diff != "" {
		t.Errorf("operations on AWS (-table +registered):\n%s", diff)
	}
}

func TestOneOperationServesItsRouteAndNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, route := range httpapi.Routes {
		one, err := httpapi.Operation(route.ID, f.cfg)
		must(t, err)
		if diff := cmp.Diff([]string{route.ID + " " + route.Method + " " + route.Path}, described(one.OpenAPI())); diff != "" {
			t.Errorf("Operation(%s) registers (-want +got):\n%s", route.ID, diff)
		}
	}
	f.cfg.Embedded = false
	for _, id := range []string{"nope", "read-transfer-data"} {
		if _, err := httpapi.Operation(id, f.cfg); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("Operation(%s) on AWS: %v, want not_found", id, err)
		}
	}
}

func TestTheRouteTableIsWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range httpapi.Routes {
		for _, key := range []string{r.ID, r.Method + " " + r.Path} {
			if seen[key] {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
		}
		if _, err := berth.ParseSlug("operation id", r.ID); err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
		if (r.Takes == "") != (r.BodyCap == 0) {
			t.Errorf("%s takes %q and has a body cap of %d", r.ID, r.Takes, r.BodyCap)
		}
		if r.Keyed && r.Method != "POST" {
			t.Errorf("%s honours an Idempotency-Key and is no POST", r.ID)
		}
		if r.Method == "GET" && r.Takes != "" {
			t.Errorf("%s is a GET with a body", r.ID)
		}
		if r.Scope == berth.ScopeNone && !r.Embedded && !strings.Contains("/health /version /openapi.json /hosts/join", r.Path) {
			t.Errorf("%s asks for no key", r.ID)
		}
	}
}

func TestAConfigurationThatLacksSomethingIsRefused(t *testing.T) {
	t.Parallel()
	_, err := httpapi.New(httpapi.Config{SigningKey: []byte("short")})
	if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "Plane") || !strings.Contains(err.Error(), "SigningKey") {
		t.Errorf("New without anything: %v", err)
	}
}
