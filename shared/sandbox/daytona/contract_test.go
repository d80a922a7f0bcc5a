//go:build linux

package daytona_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

// contracts is where Daytona's API descriptions lie: beside the project.
const contracts = "../../../../shared/contracts"

// checker carries requests and holds them and their answers against the
// descriptions.
type checker struct {
	control, toolbox description

	mu     sync.Mutex // guards all below
	seen   map[string]int
	faults []string
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(contracts, name))
		if err != nil {
			t.Skipf("Daytona's API descriptions are not beside the project: %v", err)
		}
		return b
	}
	control, err := openapi3.NewLoader().LoadFromData(read("daytona-api.openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var old openapi2.T
	if err := json.Unmarshal(read("daytona-toolbox.openapi.json"), &old); err != nil {
		t.Fatal(err)
	}
	toolbox, err := openapi2conv.ToV3(&old)
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{seen: map[string]int{}}
	c.control, c.toolbox = description{control, "/api", 0}, description{toolbox, "/toolbox", 1}
	return c
}

// description finds the operation of a request. kin-openapi's own routers refuse
// the document, for it names one path twice with other names of its parameters.
type description struct {
	doc  *openapi3.T
	base string // segments before the paths of the document
	skip int    // segments behind base that are no part of it
}

func (d description) find(method, path string) (*routers.Route, map[string]string) {
	rest, ok := strings.CutPrefix(path, d.base)
	if !ok {
		return nil, nil
	}
	have := strings.Split(strings.TrimPrefix(rest, "/"), "/")[d.skip:]
	var best *routers.Route
	var params map[string]string
	literal := -1
	for template, item := range d.doc.Paths.Map() {
		operation := item.GetOperation(method)
		found, n := match(strings.Split(strings.TrimPrefix(template, "/"), "/"), have)
		if operation != nil && found != nil && n > literal {
			literal, params = n, found
			best = &routers.Route{Spec: d.doc, Path: template, PathItem: item, Method: method, Operation: operation}
		}
	}
	return best, params
}

// match compares segments and counts those that are literal.
func match(template, have []string) (params map[string]string, literal int) {
	if len(template) != len(have) {
		return nil, 0
	}
	params = map[string]string{}
	for i, part := range template {
		switch {
		case strings.HasPrefix(part, "{"):
			params[strings.Trim(part, "{}")] = have[i]
		case part == have[i]:
			literal++
		default:
			return nil, 0
		}
	}
	return params, literal
}

func (c *checker) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *checker) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || strings.Contains(r.URL.Path, "/logs") {
		return resp, err // a stream has no form
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if err != nil {
		return resp, nil
	}
	c.check(r, body, resp, answer)
	return resp, nil
}

func (c *checker) check(r *http.Request, body []byte, resp *http.Response, answer []byte) {
	described := c.control
	if strings.HasPrefix(r.URL.Path, "/toolbox/") {
		described = c.toolbox
	}
	asked := r.Clone(context.Background())
	asked.Body = io.NopCloser(bytes.NewReader(body))
	what := r.Method + " " + r.URL.Path
	route, params := described.find(r.Method, r.URL.Path)
	if route == nil {
		c.fault("%s is not described", what)
		return
	}
	c.mu.Lock()
	c.seen[route.Method+" "+route.Path]++
	c.mu.Unlock()
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, ExcludeRequestBody: strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/")}
	in := &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route, Options: options}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil {
		c.fault("%s: request %s: %v", what, body, err)
	}
	if resp.StatusCode >= 400 { // the descriptions leave most of them out
		return
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Options: options}
	out.SetBodyBytes(answer)
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		c.fault("%s: answer %d %.300s: %v", what, resp.StatusCode, answer, err)
	}
}

func TestClientAndServerKeepToDaytonasDescriptions(t *testing.T) {
	t.Parallel()
	s := daytonatest.New(t, daytonatest.Config{BuildTime: 20 * time.Millisecond})
	check := newChecker(t)
	c := config(t, s)
	c.Transport = check
	p := open(t, c)
	s.AddSnapshot("tools:1", "inactive", 30*24*time.Hour)
	s.AddSnapshot("berth-test-"+strings.Repeat("e", 32), "error", time.Hour)
	s.ScriptSnapshot(daytonatest.Script{States: []string{"build_failed"}}, daytonatest.Script{States: []string{"build_failed"}})
	if state, err := provision(t.Context(), p, built(t, "FROM scratch\n")); err != nil || state.Status != berth.SandboxFailed {
		t.Errorf("a build that fails: %+v, %v", state, err)
	}
	limited := built(t, "FROM debian:13\n")
	cpu, memory := 2, berth.Size("2GB")
	limited.Environment.Resources = berth.Resources{CPU: &cpu, Memory: &memory}
	limited.Environment.Network = berth.Network{Mode: berth.NetworkCIDRAllowList, Allow: []string{"10.1.2.3/8"}}
	limited.Environment.Labels = map[string]string{"team": "x"}
	state := ready(t, p, limited)
	other := spec(t)
	other.Environment.Daytona = &berth.DaytonaOptions{Snapshot: "tools:1", Target: "eu"}
	ready(t, p, other)
	for _, call := range []struct {
		what string
		err  error
	}{
		{"KeepAlive", p.KeepAlive(t.Context(), ref(state))},
		{"CleanUp", p.CleanUp(t.Context())},
		{"OpenShell", second(p.OpenShell(t.Context(), ref(state), 0))},
		{"Preview", second(p.Preview(t.Context(), ref(state), 3000, 0))},
		{"Snapshot", p.Snapshot(t.Context(), ref(state), "kept:1")},
		{"List", second(p.List(t.Context()))},
		{"Stop", p.Stop(t.Context(), ref(state))},
		{"Start", second(p.Start(t.Context(), ref(state)))},
		{"Destroy", p.Destroy(t.Context(), ref(state))},
	} {
		if call.err != nil {
			t.Errorf("%s: %v", call.what, call.err)
		}
	}
	p.Close() // which ends the sessions
	check.mu.Lock()
	faults := check.faults
	check.mu.Unlock()
	for _, fault := range faults {
		t.Error(fault)
	}
	wrong := &checker{control: check.control, toolbox: check.toolbox, seen: map[string]int{}}
	request, _ := http.NewRequest(http.MethodPost, s.URL()+"/sandbox", nil)
	request.Header.Set("Content-Type", "application/json")
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}}
	wrong.check(request, []byte(`{"labels": 1}`), answer, []byte(`{"id": 1}`))
	if len(wrong.faults) != 2 {
		t.Errorf("a wrong request and a wrong answer: %q", wrong.faults)
	}
	for _, route := range []string{
		"POST /sandbox", "GET /sandbox", "GET /sandbox/{sandboxIdOrName}", "DELETE /sandbox/{sandboxIdOrName}", "POST /sandbox/{sandboxIdOrName}/start",
		"POST /sandbox/{sandboxIdOrName}/stop", "PUT /sandbox/{sandboxIdOrName}/labels", "POST /sandbox/{sandboxIdOrName}/autodelete/{interval}",
		"POST /sandbox/{sandboxId}/last-activity", "POST /sandbox/{sandboxIdOrName}/ssh-access", "POST /sandbox/{sandboxIdOrName}/snapshot",
		"GET /sandbox/{sandboxIdOrName}/ports/{port}/signed-preview-url", "POST /snapshots", "GET /snapshots", "GET /snapshots/{id}", "DELETE /snapshots/{id}",
		"POST /snapshots/{id}/activate", "GET /snapshots/{id}/build-logs-url", "GET /version", "GET /user-home-dir", "POST /process/execute",
		"POST /process/session", "POST /process/session/{sessionId}/exec", "POST /process/session/{sessionId}/command/{commandId}/input",
		"DELETE /process/session/{sessionId}", "POST /files/bulk-upload", "GET /files/info", "POST /files/move",
	} {
		if check.seen[route] == 0 {
			t.Errorf("%s was not asked; seen are %v", route, slices.Sorted(maps.Keys(check.seen)))
		}
	}
}
