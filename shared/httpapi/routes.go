// Package httpapi is berth's HTTP API: the route table, one file of operations a
// resource, and the edge around them. The same handlers answer on a net/http
// server and behind API Gateway.
package httpapi

import (
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
)

// Prefix is in front of every path of the route table.
const Prefix = "/api/v1"

// ScopeAny is for routes that take any valid key.
const ScopeAny berth.Scope = "any"

// Caps of request bodies, in bytes.
const (
	// MaxBody is the cap on every wiring: Lambda's 6 MB, less base64.
	MaxBody = 4 << 20
	// noBody leaves room for the `{}` that some clients send along with
	// everything; it is not looked at.
	noBody = 4 << 10
	// hostBody holds what hosts say of themselves; a join is taken without a key.
	hostBody = 64 << 10
	// streamed bodies are bounded by the size that their transfer declared.
	streamed = -1
)

// Media types that routes take.
const (
	mediaJSON       = "application/json"
	mediaMergePatch = "application/merge-patch+json"
	mediaBytes      = "application/octet-stream"
	mediaEvents     = "text/event-stream"
	mediaProblem    = "application/problem+json"
)

// Route is one row of the route table.
type Route struct {
	// ID is the operation id, and the name of the function's folder.
	ID     string
	Method string
	Path   string // below Prefix, in the syntax of net/http
	// Scope is what a key must have; ScopeNone asks for no key.
	Scope berth.Scope
	// BodyCap is the largest request body, in bytes; negative when it is streamed.
	BodyCap int64
	// Takes is the media type of the body; empty when there is none.
	Takes string
	// Keyed routes honour an Idempotency-Key.
	Keyed bool
	// Embedded routes are there in the embedded server only.
	Embedded bool
	// Events marks a route that also speaks server-sent events when embedded.
	Events bool
}

const (
	get    = http.MethodGet
	put    = http.MethodPut
	post   = http.MethodPost
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

// Routes is the one list of routes: the mux, the functions, the deployment and
// the OpenAPI document are made from it or checked against it.
var Routes = []Route{
	{ID: "list-environments", Method: get, Path: "/environments", Scope: berth.ScopeRead},
	{ID: "create-environment", Method: post, Path: "/environments", Scope: berth.ScopeAdmin, BodyCap: MaxBody, Takes: mediaJSON, Keyed: true},
	{ID: "find-environment", Method: get, Path: "/environments/{id}", Scope: berth.ScopeRead},
	{ID: "replace-environment", Method: put, Path: "/environments/{id}", Scope: berth.ScopeAdmin, BodyCap: MaxBody, Takes: mediaJSON},
	{ID: "update-environment", Method: patch, Path: "/environments/{id}", Scope: berth.ScopeAdmin, BodyCap: MaxBody, Takes: mediaMergePatch},
	{ID: "delete-environment", Method: remove, Path: "/environments/{id}", Scope: berth.ScopeAdmin},
	{ID: "check-environment", Method: post, Path: "/environments/{id}/check", Scope: berth.ScopeRead},

	{ID: "list-variables", Method: get, Path: "/variables", Scope: berth.ScopeRead},
	{ID: "find-variable", Method: get, Path: "/variables/{name}", Scope: berth.ScopeRead},
	{ID: "put-variable", Method: put, Path: "/variables/{name}", Scope: berth.ScopeAdmin, BodyCap: MaxBody, Takes: mediaJSON},
	{ID: "delete-variable", Method: remove, Path: "/variables/{name}", Scope: berth.ScopeAdmin},

	{ID: "list-secrets", Method: get, Path: "/secrets", Scope: berth.ScopeRead},
	{ID: "find-secret", Method: get, Path: "/secrets/{name}", Scope: berth.ScopeRead},
	{ID: "put-secret", Method: put, Path: "/secrets/{name}", Scope: berth.ScopeAdmin, BodyCap: MaxBody, Takes: mediaJSON},
	{ID: "delete-secret", Method: remove, Path: "/secrets/{name}", Scope: berth.ScopeAdmin},

	{ID: "list-runs", Method: get, Path: "/runs", Scope: berth.ScopeRead},
	{ID: "create-run", Method: post, Path: "/runs", Scope: berth.ScopeRun, BodyCap: MaxBody, Takes: mediaJSON, Keyed: true},
	{ID: "preflight-run", Method: post, Path: "/preflight", Scope: berth.ScopeRead, BodyCap: MaxBody, Takes: mediaJSON},
	{ID: "find-run", Method: get, Path: "/runs/{id}", Scope: berth.ScopeRead},
	{ID: "delete-run", Method: remove, Path: "/runs/{id}", Scope: berth.ScopeRun},
	{ID: "cancel-run", Method: post, Path: "/runs/{id}/cancel", Scope: berth.ScopeRun},
	{ID: "read-run-events", Method: get, Path: "/runs/{id}/events", Scope: berth.ScopeRead, Events: true},
	{ID: "list-run-stages", Method: get, Path: "/runs/{id}/stages", Scope: berth.ScopeRead},
	{ID: "read-run-logs", Method: get, Path: "/runs/{id}/logs", Scope: berth.ScopeRead},

	{ID: "list-sandboxes", Method: get, Path: "/sandboxes", Scope: berth.ScopeRead},
	{ID: "find-sandbox", Method: get, Path: "/sandboxes/{id}", Scope: berth.ScopeRead},
	{ID: "destroy-sandbox", Method: remove, Path: "/sandboxes/{id}", Scope: berth.ScopeRun},
	{ID: "stop-sandbox", Method: post, Path: "/sandboxes/{id}/stop", Scope: berth.ScopeRun},
	{ID: "start-sandbox", Method: post, Path: "/sandboxes/{id}/start", Scope: berth.ScopeRun},
	{ID: "open-shell", Method: post, Path: "/sandboxes/{id}/ssh", Scope: berth.ScopeRun, BodyCap: MaxBody, Takes: mediaJSON},
	{ID: "open-preview", Method: post, Path: "/sandboxes/{id}/preview", Scope: berth.ScopeRun, BodyCap: MaxBody, Takes: mediaJSON},
	{ID: "carry-stream", Method: get, Path: "/streams", Scope: berth.ScopeNone, Embedded: true},
	{ID: "read-file", Method: get, Path: "/sandboxes/{id}/files", Scope: berth.ScopeRead},
	{ID: "write-file", Method: put, Path: "/sandboxes/{id}/files", Scope: berth.ScopeRun, BodyCap: MaxBody, Takes: mediaBytes},
	{ID: "delete-file", Method: remove, Path: "/sandboxes/{id}/files", Scope: berth.ScopeRun},
	{ID: "grep-files", Method: post, Path: "/sandboxes/{id}/grep", Scope: berth.ScopeRead, BodyCap: MaxBody, Takes: mediaJSON},
	{ID: "glob-files", Method: post, Path: "/sandboxes/{id}/glob", Scope: berth.ScopeRead, BodyCap: MaxBody, Takes: mediaJSON},

	{ID: "start-command", Method: post, Path: "/sandboxes/{id}/commands", Scope: berth.ScopeRun, BodyCap: MaxBody, Takes: mediaJSON, Keyed: true},
	{ID: "find-command", Method: get, Path: "/sandboxes/{id}/commands/{cid}", Scope: berth.ScopeRead},
	{ID: "read-command-output", Method: get, Path: "/sandboxes/{id}/commands/{cid}/output", Scope: berth.ScopeRead},
	{ID: "write-command-stdin", Method: post, Path: "/sandboxes/{id}/commands/{cid}/stdin", Scope: berth.ScopeRun, BodyCap: MaxBody, Takes: mediaJSON},
	{ID: "signal-command", Method: post, Path: "/sandboxes/{id}/commands/{cid}/signal", Scope: berth.ScopeRun, BodyCap: MaxBody, Takes: mediaJSON, Keyed: true},

	{ID: "create-transfer", Method: post, Path: "/transfers", Scope: berth.ScopeRun, BodyCap: MaxBody, Takes: mediaJSON, Keyed: true},
	{ID: "find-transfer", Method: get, Path: "/transfers/{id}", Scope: berth.ScopeRun},
	{ID: "commit-transfer", Method: post, Path: "/transfers/{id}/commit", Scope: berth.ScopeRun},
	{ID: "write-transfer-data", Method: put, Path: "/transfers/{id}/data", Scope: berth.ScopeNone, BodyCap: streamed, Takes: mediaBytes, Embedded: true},
	{ID: "read-transfer-data", Method: get, Path: "/transfers/{id}/data", Scope: berth.ScopeNone, Embedded: true},

	{ID: "list-hosts", Method: get, Path: "/hosts", Scope: berth.ScopeRead},
	{ID: "add-host", Method: post, Path: "/hosts", Scope: berth.ScopeAdmin, BodyCap: MaxBody, Takes: mediaJSON, Keyed: true},
	{ID: "join-host", Method: post, Path: "/hosts/join", Scope: berth.ScopeNone, BodyCap: hostBody, Takes: mediaJSON},
	{ID: "find-host", Method: get, Path: "/hosts/{id}", Scope: berth.ScopeRead},
	{ID: "remove-host", Method: remove, Path: "/hosts/{id}", Scope: berth.ScopeAdmin},
	{ID: "beat-host", Method: post, Path: "/hosts/{id}/heartbeat", Scope: berth.ScopeHost, BodyCap: hostBody, Takes: mediaJSON},
	{ID: "nudge-host", Method: post, Path: "/hosts/{id}/nudge", Scope: berth.ScopeHost, BodyCap: hostBody, Takes: mediaJSON},
	{ID: "drain-host", Method: post, Path: "/hosts/{id}/drain", Scope: berth.ScopeAdmin, BodyCap: hostBody, Takes: mediaJSON},

	{ID: "list-keys", Method: get, Path: "/keys", Scope: berth.ScopeAdmin},
	{ID: "create-key", Method: post, Path: "/keys", Scope: berth.ScopeAdmin, BodyCap: MaxBody, Takes: mediaJSON, Keyed: true},
	{ID: "delete-key", Method: remove, Path: "/keys/{id}", Scope: berth.ScopeAdmin},
	{ID: "find-principal", Method: get, Path: "/whoami", Scope: ScopeAny},
	{ID: "find-health", Method: get, Path: "/health", Scope: berth.ScopeNone},
	{ID: "find-version", Method: get, Path: "/version", Scope: berth.ScopeNone},
	{ID: "find-openapi", Method: get, Path: "/openapi.json", Scope: berth.ScopeNone},
}

// FindRoute returns the row of an operation.
func FindRoute(id string) (Route, bool) {
	for _, r := range Routes {
		if r.ID == id {
			return r, true
		}
	}
	return Route{}, false
}

// pattern is what net/http's mux registers.
func (r Route) pattern() string { return r.Method + " " + Prefix + r.Path }

// cap is the largest body that the route takes.
func (r Route) cap() int64 {
	if r.BodyCap == 0 {
		return noBody
	}
	return r.BodyCap
}
