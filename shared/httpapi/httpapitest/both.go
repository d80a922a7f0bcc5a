// Package httpapitest runs one scenario against an API's handler in both ways in
// which it is served: over HTTP, and as API Gateway events.
package httpapitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Request is one request of a scenario.
type Request struct {
	Method string
	// Path is escaped; Query is not.
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
}

// Response is its answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request.
type Do func(Request) Response

// Host is the name that both ways give the server.
const Host = "localhost"

// Both runs scenario twice, each time on a fresh handler from start, and fails
// unless both ways gave the same answers. Handlers whose clock and ids are
// fixed give the same answers to the byte.
func Both(t *testing.T, start func(t *testing.T) http.Handler, scenario func(t *testing.T, do Do)) {
	t.Helper()
	var transcripts [2][]answer
	for i, way := range []struct {
		name string
		send func(t *testing.T, h http.Handler) Do
	}{{"over HTTP", OverHTTP}, {byEvents, asEvents}} {
		t.Run(way.name, func(t *testing.T) {
			send := way.send(t, start(t))
			scenario(t, func(r Request) Response {
				resp := send(r)
				transcripts[i] = append(transcripts[i], comparable(resp))
				return resp
			})
		})
	}
	if t.Failed() {
		return
	}
	if diff := cmp.Diff(transcripts[0], transcripts[1]); diff != "" {
		t.Errorf("HTTP and gateway answers differ (-HTTP +gateway):\n%s", diff)
	}
}

const byEvents = "as gateway events"

// AsEvents reports whether the scenario that t is of is sent as gateway events.
func AsEvents(t *testing.T) bool {
	return strings.HasSuffix(t.Name(), "/"+strings.ReplaceAll(byEvents, " ", "_"))
}

// answer is a response in a form that is quick to compare.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// comparable keeps the headers that are the handler's and not the transport's.
func comparable(r Response) answer {
	kept := http.Header{}
	for name, values := range r.Header {
		switch name {
		case "Date", "Connection", "Transfer-Encoding", "Content-Length":
		default:
			kept[name] = values
		}
	}
	return answer{r.Status, kept, string(r.Body)}
}

// OverHTTP serves h on a loopback port for one test.
func OverHTTP(t *testing.T, h http.Handler) Do {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(r Request) Response {
		t.Helper()
		address := server.URL + r.Path
		if len(r.Query) > 0 {
			address += "?" + r.Query.Encode()
		}
		req, err := http.NewRequestWithContext(t.Context(), r.Method, address, bytes.NewReader(r.Body))
		if err != nil {
			t.Fatalf("making the request %s %s: %v", r.Method, r.Path, err)
		}
		req.Host = Host
		for name, values := range r.Header {
			req.Header[name] = values
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", r.Method, r.Path, err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("reading the answer to %s %s: %v", r.Method, r.Path, err)
		}
		return Response{resp.StatusCode, resp.Header, body}
	}
}

// JSON decodes a response's body.
func JSON[T any](t *testing.T, r Response) (v T) {
	t.Helper()
	if err := json.Unmarshal(r.Body, &v); err != nil {
		t.Fatalf("the answer %d is no JSON of the form that was expected: %v\n%s", r.Status, err, cut(r.Body))
	}
	return v
}

func cut(b []byte) string { return strings.ToValidUTF8(string(b[:min(len(b), 2000)]), "?") }
