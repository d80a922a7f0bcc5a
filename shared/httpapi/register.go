package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
)

// operation is a handler before it is registered: its route is found by its id.
type operation struct {
	id  string
	add func(a *API, route Route)
}

// spec is what the OpenAPI document says of an operation beside its types.
type spec struct {
	summary     string
	description string
	// status is that of success; 200, or 204 without a body, unless given.
	status int
	// takes is a value of the body's type.
	takes any
	// optional says that no field of the body is required, bodiless that the body
	// itself is not.
	optional, bodiless bool
	// upserts says that success is 201 when something was made.
	upserts bool
	example any // of the body
	reply   any // an example of the answer
	// gives is a value of the answer's type, where the handler writes it itself.
	gives any
	// media are further media types of the answer, with what they are for.
	media map[string]string
	// headers are those of the answer that the handler writes itself.
	headers map[string]string
	// codes are the errors beside those that the route's row implies.
	codes []berth.Code
}

// op declares an operation. Its handler gets parameters as text, and its body,
// if any, from readBody: nothing of huma's own decoding or validation runs.
func op[I, O any](id string, s spec, handle func(*API, context.Context, *I) (*O, error)) operation {
	return operation{id: id, add: func(a *API, route Route) {
		described := huma.Operation{
			OperationID: id, Method: route.Method, Path: route.Path,
			Summary: s.summary, Description: s.description, Tags: []string{tagOf(route.Path)},
			DefaultStatus: s.status, SkipValidateParams: true, SkipValidateBody: true,
		}
		a.document(&described, route, s)
		huma.Register(a.huma, described, func(ctx context.Context, in *I) (*O, error) {
			out, err := handle(a, ctx, in)
			if err != nil {
				return nil, problemOf(err, exchangeOf(ctx).id)
			}
			return out, nil
		})
		a.describeBody(route, s)
	}}
}

// empty is the input of an operation without parameters, and the output of one
// without an answer.
type empty struct{}

// body is an answer of JSON alone.
type body[T any] struct{ Body T }

// created is the answer to a POST that made something.
type created[T any] struct {
	Location string `header:"Location" doc:"Where the resource is"`
	Replayed string `header:"Idempotent-Replayed" doc:"true when an earlier request with this Idempotency-Key made it"`
	Body     T
}

// KeyParams are what routes that honour an Idempotency-Key take.
type KeyParams struct {
	Key string `header:"Idempotency-Key" doc:"1 to 128 visible ASCII characters. The same key gives the same result for 24 hours" example:"f3a1c9"`
}

// mux hands huma's handlers to the real mux, each behind its route's guard.
type mux struct{ api *API }

func (m mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	for _, route := range Routes {
		if route.pattern() == pattern {
			known := m.api.queryParams(route)
			m.api.mux.HandleFunc(pattern, m.api.guarded(route, known, handler))
			m.api.registered = append(m.api.registered, route)
			return
		}
	}
	panic("httpapi: " + pattern + " is not in the route table")
}

func (m mux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.api.mux.ServeHTTP(w, r) }

// queryParams are the names of a documented route's query parameters.
func (a *API) queryParams(route Route) []string {
	var names []string
	for _, p := range a.documented(route).Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return names
}

// documented is the operation in the OpenAPI document.
func (a *API) documented(route Route) *huma.Operation {
	item := a.huma.OpenAPI().Paths[route.Path]
	return map[string]*huma.Operation{get: item.Get, put: item.Put, post: item.Post, patch: item.Patch, remove: item.Delete}[route.Method]
}

func typeOf(v any) reflect.Type { return reflect.TypeOf(v) }
