package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-dev/berth/shared/berth"
)

const about = `berth runs commands, workflows and coding agents in named, sandboxed environments.

Every error is an ` + "`application/problem+json`" + ` document with a stable ` + "`code`" + ` and all faults of the input. Lists take
` + "`limit`" + ` and ` + "`cursor`" + `. Environments need ` + "`If-Match`" + ` on change. Requests and answers are at most 4 MiB.`

// schemas is the registry of a document that people read.
func schemas() huma.Registry { return huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer) }

// document is the head of the OpenAPI document, and huma with its defaults off:
// no routes of its own, no $schema, no formats but JSON.
func document(registry huma.Registry) huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "berth", Version: "v1", Description: about,
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: Prefix}},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token": {Type: "http", Scheme: "bearer", Description: "The token file of the embedded server, or a key"},
				},
			},
		},
		Formats:       map[string]huma.Format{mediaJSON: jsonFormat(), mediaProblem: jsonFormat(), "json": jsonFormat()},
		DefaultFormat: mediaJSON,
	}
}

// tagOf groups operations by the first part of their path.
func tagOf(path string) string {
	part, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case strings.Contains(path, "/commands"):
		return "commands"
	case strings.Contains(path, "/files"), strings.HasSuffix(path, "/grep"), strings.HasSuffix(path, "/glob"):
		return "files"
	case part == "preflight":
		return "runs"
	case part == "whoami", part == "health", part == "version", part == "openapi.json":
		return "service"
	}
	return part
}

// document fills in what follows from the route's row: security and errors.
func (a *API) document(op *huma.Operation, route Route, s spec) {
	if route.Scope != berth.ScopeNone {
		op.Security = []map[string][]string{{"token": {}}}
	}
	op.Extensions = map[string]any{"x-scope": string(route.Scope)}
	if route.Embedded {
		op.Extensions["x-embedded"] = true
	}
	op.Responses = map[string]*huma.Response{}
	byStatus := map[int][]string{}
	for _, code := range codesOf(route, s) {
		status := code.Info().HTTP
		byStatus[status] = append(byStatus[status], string(code))
	}
	for status, codes := range byStatus {
		op.Responses[strconv.Itoa(status)] = a.problemResponse(status, codes)
	}
}

// problemResponse refers to the one description of an error answer.
func (a *API) problemResponse(status int, codes []string) *huma.Response {
	components := a.huma.OpenAPI().Components
	if components.Responses == nil {
		components.Responses = map[string]*huma.Response{}
	}
	name := strings.Join(codes, "_or_")
	if components.Responses[name] == nil {
		code := berth.Code(codes[0])
		components.Responses[name] = &huma.Response{
			Description: http.StatusText(status) + ": code " + strings.Join(codes, " or "),
			Headers:     headersOf(code),
			Content: map[string]*huma.MediaType{mediaProblem: {
				Schema: components.Schemas.Schema(typeOf(ProblemDocument{}), true, ""),
				Example: ProblemDocument{
					Type: "about:blank", Title: code.Info().Title, Status: status, Detail: "what is wrong, in a sentence", Code: code,
					RequestID: "01jd3v6d0x2m5p8q9r7s4t1v0w", Errors: exampleErrors(code),
				},
			}},
		}
	}
	return &huma.Response{Ref: "#/components/responses/" + name}
}

// headersOf are the headers that go with an error; see ProblemDocument.headers.
func headersOf(code berth.Code) map[string]*huma.Param {
	switch code {
	case berth.CodeUnauthenticated:
		return described(map[string]string{"WWW-Authenticate": "Bearer"})
	case berth.CodeRateLimited, berth.CodeUnavailable:
		return described(map[string]string{"Retry-After": "Seconds to wait"})
	}
	return nil
}

// described documents headers that huma does not write.
func described(about map[string]string) map[string]*huma.Param {
	headers := map[string]*huma.Param{}
	for name, text := range about {
		headers[name] = &huma.Param{Description: text, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return headers
}

func exampleErrors(code berth.Code) []berth.Problem {
	if code == berth.CodeInvalid {
		return []berth.Problem{{Location: "resources.memroy", Message: "is not a known key: did you mean memory?"}}
	}
	return []berth.Problem{}
}

// codesOf are all errors of a route, in the order of the domain's table.
func codesOf(route Route, s spec) []berth.Code {
	// What any request can meet: the checks of the edge, among them that of the
	// Host and of bodies that nobody asked for, and the gateway's own answers.
	set := map[berth.Code]bool{
		berth.CodeMalformed: true, berth.CodeInvalid: true, berth.CodeForbidden: true, berth.CodeTooLarge: true,
		berth.CodeRateLimited: true, berth.CodeInternal: true, berth.CodeUnavailable: true, berth.CodeTimedOut: true,
	}
	if route.Scope != berth.ScopeNone {
		set[berth.CodeUnauthenticated] = true
	}
	if route.Takes != "" {
		set[berth.CodeUnsupportedMedia] = true
	}
	if strings.Contains(route.Path, "{") {
		set[berth.CodeNotFound] = true
	}
	if route.Keyed { // not_found is what was made and deleted since
		set[berth.CodeConflict], set[berth.CodeNotFound] = true, true
	}
	for _, c := range s.codes {
		set[c] = true
	}
	var codes []berth.Code
	for _, row := range berth.Codes {
		if set[row.Code] {
			codes = append(codes, row.Code)
		}
	}
	return codes
}

// describeBody documents the body and the examples. It comes after the
// registration, so that huma does not read bodies itself.
func (a *API) describeBody(route Route, s spec) {
	op := a.documented(route)
	if route.Takes != "" {
		schema := &huma.Schema{Type: huma.TypeString, Format: "binary"}
		if s.takes != nil {
			schema = a.huma.OpenAPI().Components.Schemas.Schema(typeOf(s.takes), true, "")
			if s.optional {
				schema = optionalSchema(a.huma.OpenAPI().Components.Schemas, requestName(s.takes), schema)
			}
			if route.Takes == mediaMergePatch {
				schema = patchSchema(a.huma.OpenAPI().Components.Schemas, typeOf(s.takes).Name()+"Patch", schema)
			}
		}
		op.RequestBody = &huma.RequestBody{
			Required: !s.bodiless,
			Content:  map[string]*huma.MediaType{route.Takes: {Schema: schema, Example: s.example}},
		}
	}
	status := strconv.Itoa(op.DefaultStatus)
	answer := op.Responses[status]
	if s.gives != nil {
		answer.Content = map[string]*huma.MediaType{
			mediaJSON: {Schema: a.huma.OpenAPI().Components.Schemas.Schema(typeOf(s.gives), true, "")},
		}
	}
	if m := answer.Content[mediaJSON]; m != nil && s.reply != nil {
		m.Example = s.reply
	}
	for _, media := range slices.Sorted(maps.Keys(s.media)) {
		if answer.Content == nil {
			answer.Content = map[string]*huma.MediaType{}
		}
		schema := &huma.Schema{Type: huma.TypeString, Description: s.media[media]}
		switch media {
		case mediaBytes:
			schema.Format = "binary"
		case mediaJSON:
			schema.Type = huma.TypeObject
		}
		answer.Content[media] = &huma.MediaType{Schema: schema}
	}
	if len(s.headers) > 0 {
		answer.Headers = described(s.headers)
	}
	if s.upserts {
		made := *answer
		made.Description = http.StatusText(http.StatusCreated)
		op.Responses[strconv.Itoa(http.StatusCreated)] = &made
	}
	for _, p := range op.Parameters {
		p.Schema = paramSchema(p)
	}
	tidySchemas(a.huma.OpenAPI().Components.Schemas)
}

// paramSchema is what a parameter holds: those that are taken as text, so that
// their faults are ours to name, are numbers all the same.
func paramSchema(p *huma.Param) *huma.Schema {
	out := *p.Schema
	out.Description = ""
	switch {
	case p.In != "query":
	case p.Name == "force":
		return &huma.Schema{Type: huma.TypeBoolean}
	case slices.Contains([]string{"limit", "offset", "after"}, p.Name):
		low := 0.0
		if p.Name == "limit" {
			low = 1
		}
		return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &low, Maximum: out.Maximum}
	}
	return &out
}

// OpenAPI returns the OpenAPI 3.1 document of the operations that are registered.
func (a *API) OpenAPI() *huma.OpenAPI { return a.huma.OpenAPI() }
