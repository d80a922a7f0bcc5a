package agentapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

const (
	token     = "a-token-for-tests"
	sandboxID = "01arz3ndektsv4rrffq69g5fav"
	sandbox   = "/v1/local/sandboxes/" + sandboxID
)

// stand stands in for a provider: it notes which method was called, and answers
// with what the test wants.
type stand struct {
	berth.Provider // nil: what is not stood in for panics
	mu             sync.Mutex
	calls          []string
	spec           berth.CommandSpec
	provisioned    berth.SandboxSpec
	err            error
	describe       berth.SandboxStatus
	read           func(ctx context.Context, wait time.Duration) (berth.Output, error)
}

func (s *stand) note(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	return s.err
}

func (s *stand) Kind() berth.ProviderKind { return berth.ProviderLocal }

func (s *stand) List(context.Context) ([]berth.SandboxState, error) {
	return []berth.SandboxState{{ID: sandboxID}}, s.note("list")
}

func (s *stand) Describe(_ context.Context, ref berth.SandboxRef) (berth.SandboxState, error) {
	return berth.SandboxState{ID: ref.ID, Ref: ref.Ref, Status: s.describe}, s.note("describe " + ref.Ref)
}

func (s *stand) Provision(_ context.Context, spec berth.SandboxSpec) (berth.SandboxState, error) {
	s.provisioned = spec
	return berth.SandboxState{ID: spec.ID, Status: berth.SandboxReady}, s.note("provision")
}

func (s *stand) StartCommand(_ context.Context, _ berth.SandboxRef, spec berth.CommandSpec) error {
	s.spec = spec
	return s.note("start " + string(spec.ID))
}

func (s *stand) Cancel(_ context.Context, _ berth.SandboxRef, id berth.CommandID) error {
	return s.note("cancel " + string(id))
}

func (s *stand) ReadOutput(ctx context.Context, _ berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	if s.read != nil {
		return s.read(ctx, wait)
	}
	return berth.Output{}, s.note(fmt.Sprintf("output %s %d %d %s", id, offset, limit, wait))
}

func (s *stand) WriteFile(_ context.Context, _ berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, _ string) (berth.FileInfo, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return berth.FileInfo{}, err
	}
	return berth.FileInfo{Path: path}, s.note(fmt.Sprintf("write %q %q %d %o", path, b, size, mode))
}

func (s *stand) Destroy(context.Context, berth.SandboxRef) error { return s.note("destroy") }

// lockedBuffer is a log that a test reads while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// edge is an agent under test.
type edge struct {
	t        *testing.T
	provider *stand
	server   *agentapi.Server
	url      string
	log      *lockedBuffer
}

func newEdge(t *testing.T, change func(*agentapi.Config)) *edge {
	t.Helper()
	e := &edge{t: t, provider: &stand{}, log: &lockedBuffer{}}
	config := agentapi.Config{
		Token: token, Installation: "mine", Providers: agentapi.Providers{berth.ProviderLocal: e.provider},
		Logger: slog.New(slog.NewJSONHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&config)
	}
	s, err := agentapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(s.Close)
	e.server, e.url = s, server.URL
	return e
}

// reply is an answer, read.
type reply struct {
	status  int
	header  http.Header
	body    string
	problem agentapi.Problem
}

func (e *edge) do(method, path, body string, headers ...string) reply {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), method, e.url, strings.NewReader(body))
	if err != nil {
		e.t.Fatal(err)
	}
	req.URL.Opaque = "//" + req.URL.Host + path // as it is, without any cleaning
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set(agentapi.InstallationHeader, "mine")
	req.Header.Set("Content-Type", agentapi.MediaJSON)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		e.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	r := reply{status: resp.StatusCode, header: resp.Header, body: string(b)}
	if resp.Header.Get("Content-Type") == agentapi.MediaProblem {
		var ok bool
		if r.problem, ok = agentapi.ReadProblem(b); !ok {
			e.t.Errorf("%s %s: %s", method, path, b)
		}
	}
	return r
}

func TestRequestsThatAreWrongReachNoProvider(t *testing.T) {
	t.Parallel()
	const command = sandbox + "/commands/c"
	long := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		code                     berth.Code
		at                       string // the field, or a part of the text
	}{
		{"no token", "GET", sandbox, "", []string{"Authorization", ""}, berth.CodeUnauthenticated, ""},
		{"a wrong token", "GET", sandbox, "", []string{"Authorization", "Bearer " + token + "x"}, berth.CodeUnauthenticated, ""},
		{"an empty token", "GET", sandbox, "", []string{"Authorization", "Bearer "}, berth.CodeUnauthenticated, ""},
		{"another scheme", "GET", sandbox, "", []string{"Authorization", "Basic " + token}, berth.CodeUnauthenticated, ""},
		{"a token in the query", "GET", sandbox + "?token=" + token, "", []string{"Authorization", ""}, berth.CodeUnauthenticated, ""},
		{"no token and no such path", "GET", "/", "", []string{"Authorization", ""}, berth.CodeUnauthenticated, ""},
		{"no installation", "GET", sandbox, "", []string{agentapi.InstallationHeader, ""}, berth.CodeInvalid, agentapi.InstallationHeader},
		{"a bad installation", "GET", sandbox, "", []string{agentapi.InstallationHeader, "../mine"}, berth.CodeInvalid, agentapi.InstallationHeader},
		{"another installation", "GET", sandbox, "", []string{agentapi.InstallationHeader, "theirs"}, berth.CodeForbidden, "mine"},

		{"no such path", "GET", "/v1/local", "", nil, berth.CodeUnsupported, ""},
		{"the root", "GET", "/", "", nil, berth.CodeUnsupported, ""},
		{"no such method", "PATCH", sandbox, "{}", nil, berth.CodeUnsupported, ""},
		{"a path with an empty part", "DELETE", "/v1/local/sandboxes//" + sandboxID, "", nil, berth.CodeUnsupported, ""},
		{"a path with dots", "DELETE", "/v1/local/x/../sandboxes/" + sandboxID, "", nil, berth.CodeUnsupported, ""},
		{"a path with a dot", "DELETE", "/v1/./local/sandboxes/" + sandboxID, "", nil, berth.CodeUnsupported, ""},
		{"an unknown provider", "GET", "/v1/daytona/sandboxes", "", nil, berth.CodeUnsupported, "local"},
		{"no provider at all", "GET", "/v1/nonsense/sandboxes", "", nil, berth.CodeUnsupported, "local"},

		{"a sandbox of dots", "GET", "/v1/local/sandboxes/%2E%2E", "", nil, berth.CodeNotFound, ""},
		{"a sandbox of dots to destroy", "DELETE", "/v1/local/sandboxes/%2E%2E", "", nil, berth.CodeInvalid, "sandbox"},
		{"a sandbox that climbs", "DELETE", "/v1/local/sandboxes/..%2F..%2Fetc", "", nil, berth.CodeInvalid, "sandbox"},
		{"a sandbox with a NUL", "DELETE", "/v1/local/sandboxes/" + sandboxID[:25] + "%00", "", nil, berth.CodeInvalid, "sandbox"},
		{"a sandbox in capitals", "DELETE", "/v1/local/sandboxes/" + strings.ToUpper(sandboxID), "", nil, berth.CodeInvalid, "sandbox"},
		{"a command that climbs", "POST", sandbox + "/commands/..%2Fmeta.json/cancel", "", nil, berth.CodeInvalid, "command"},
		{"a command of dots", "POST", sandbox + "/commands/%2e%2e/cancel", "", nil, berth.CodeInvalid, "command"},
		{"a command that climbs, read", "GET", sandbox + "/commands/..%2Fmeta.json/output", "", nil, berth.CodeNotFound, ""},
		{"a command in a command", "POST", sandbox + "/commands/a/b/cancel", "", nil, berth.CodeUnsupported, ""},

		{"an unknown parameter", "GET", command + "/output?ofset=1", "", nil, berth.CodeInvalid, "query.ofset"},
		{"a parameter twice", "GET", command + "/output?offset=1&offset=2", "", nil, berth.CodeInvalid, "query.offset"},
		{"an offset that is no number", "GET", command + "/output?offset=1x", "", nil, berth.CodeInvalid, "query.offset"},
		{"an offset over all numbers", "GET", command + "/output?offset=99999999999999999999", "", nil, berth.CodeInvalid, "query.offset"},
		{"a wait that is none", "GET", command + "/output?wait=5", "", nil, berth.CodeInvalid, "query.wait"},
		{"a negative wait", "GET", command + "/output?wait=-5s", "", nil, berth.CodeInvalid, "query.wait"},
		{"a bad escape", "GET", command + "/output?offset=%zz", "", nil, berth.CodeMalformed, ""},
		{"a semicolon", "GET", command + "/output?offset=1;wait=2s", "", nil, berth.CodeMalformed, ""},
		{"a mode over all bits", "PUT", sandbox + "/files?path=a&size=1&mode=99999999999", "x", []string{"Content-Type", agentapi.MediaBytes}, berth.CodeInvalid, "query.mode"},

		{"a file without its size", "PUT", sandbox + "/files?path=a", "x", []string{"Content-Type", agentapi.MediaBytes}, berth.CodeInvalid, "query.size"},
		{"a file of a negative size", "PUT", sandbox + "/files?path=a&size=-1", "x", []string{"Content-Type", agentapi.MediaBytes}, berth.CodeInvalid, "query.size"},

		{"no body", "PUT", command, "", nil, berth.CodeMalformed, ""},
		{"no JSON", "PUT", command, `{"script":`, nil, berth.CodeMalformed, ""},
		{"a list", "PUT", command, `[]`, nil, berth.CodeInvalid, "object"},
		{"an unknown field", "PUT", command, `{"script":"dHJ1ZQ==","argc":1}`, nil, berth.CodeInvalid, "argc"},
		{"a field twice", "PUT", command, `{"script":"dHJ1ZQ==","script":"dHJ1ZQ=="}`, nil, berth.CodeInvalid, "script"},
		{"text that is no base64", "PUT", command, `{"script":"true!"}`, nil, berth.CodeInvalid, "script"},
		{"a mask that is no base64", "PUT", command, `{"mask":["hunter2!"]}`, nil, berth.CodeInvalid, "mask[0]"},
		{"an unknown field of an environment", "PUT", sandbox, `{"run":"r","environment":{"imagine":{}}}`, nil, berth.CodeInvalid, "imagine"},
		{"no environment", "PUT", sandbox, `{"run":"r"}`, nil, berth.CodeInvalid, "environment"},
		{"another media type", "PUT", command, `{}`, []string{"Content-Type", "text/plain"}, berth.CodeUnsupportedMedia, ""},
		{"a body where none is taken", "POST", command + "/cancel", `{}`, nil, berth.CodeInvalid, "no body"},
		{"input over the cap", "POST", command + "/input", long + "x", []string{"Content-Type", agentapi.MediaBytes}, berth.CodeTooLarge, ""},
		{"a command over the cap", "PUT", command, `{"script":"` + strings.Repeat(long, 16) + `"}`, nil, berth.CodeTooLarge, ""},
		{"a signal over the cap", "POST", command + "/signal", `{"signal":"` + long + `"}`, nil, berth.CodeTooLarge, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t, nil)
			got := e.do(tt.method, tt.path, tt.body, tt.headers...)
			if got.problem.Code != tt.code || got.status != tt.code.Info().HTTP {
				t.Errorf("got %d %s, want %s", got.status, got.body, tt.code)
			}
			if !strings.Contains(got.body, tt.at) {
				t.Errorf("%s does not name %q", got.body, tt.at)
			}
			if len(e.provider.calls) > 0 {
				t.Errorf("the provider was called: %v", e.provider.calls)
			}
			if id := got.header.Get(agentapi.RequestHeader); id == "" || got.problem.RequestID != id || !strings.Contains(e.log.String(), id) {
				t.Errorf("request %q is not that of the answer and the log: %s", id, e.log)
			}
			for _, secret := range []string{token, "hunter2"} {
				if strings.Contains(got.body+e.log.String(), secret) {
					t.Errorf("%q is in the answer %s or the log %s", secret, got.body, e.log)
				}
			}
		})
	}
}

// A body without a length cannot be refused by its headers.
func TestABodyOfUnknownLengthIsBounded(t *testing.T) {
	t.Parallel()
	e := newEdge(t, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.url+sandbox+"/commands/c/input", io.MultiReader(bytes.NewReader(make([]byte, agentapi.MaxInput)), strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, agentapi.InstallationHeader: {"mine"}, "Content-Type": {agentapi.MediaBytes}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge || len(e.provider.calls) > 0 {
		t.Errorf("status %d, calls %v", resp.StatusCode, e.provider.calls)
	}
}

func TestErrorsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	problems := []berth.Problem{{Location: "argv", Message: "is bad"}, {Location: "env.A", Message: "is worse"}}
	for _, info := range berth.Codes {
		if info.Code == berth.CodeInternal {
			continue
		}
		e := newEdge(t, nil)
		want := &berth.Error{Code: info.Code, Message: "what is wrong", Field: "env.A", Remediation: "what to do", Problems: problems}
		withCause := *want
		withCause.Cause = errors.New("a secret cause")
		e.provider.err = fmt.Errorf("doing it: %w", &withCause)
		got := e.do(http.MethodDelete, sandbox, "")
		if diff := cmp.Diff(want, got.problem.Err()); diff != "" || got.status != info.HTTP {
			t.Errorf("%s: status %d (-want +got)\n%s", info.Code, got.status, diff)
		}
		if strings.Contains(got.body, "a secret cause") {
			t.Errorf("%s: the cause is in %s", info.Code, got.body)
		}
	}
}

func TestInternalErrorsAndPanicsAreLoggedAndNotTold(t *testing.T) {
	t.Parallel()
	t.Run("an error without a code", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, nil)
		e.provider.err = errors.New("the disk says 42")
		got := e.do(http.MethodDelete, sandbox, "")
		if got.problem.Code != berth.CodeInternal || strings.Contains(got.body, "42") || !strings.Contains(got.problem.Err().Error(), got.problem.RequestID) {
			t.Errorf("the answer is %s", got.body)
		}
		if !strings.Contains(e.log.String(), "the disk says 42") {
			t.Errorf("the log is %s", e.log)
		}
	})
	t.Run("a panic", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t, nil)
		e.provider.read = func(context.Context, time.Duration) (berth.Output, error) { panic("hunter2") }
		got := e.do(http.MethodGet, sandbox+"/commands/c/output", "")
		if got.problem.Code != berth.CodeInternal {
			t.Errorf("the answer is %d %s", got.status, got.body)
		}
		if text := e.log.String(); !strings.Contains(text, "panic: string") || !strings.Contains(text, "server_test.go") || strings.Contains(text, "hunter2") {
			t.Errorf("the log is %s", text)
		}
		if again := e.do(http.MethodDelete, sandbox, ""); again.status != http.StatusNoContent {
			t.Errorf("the next request: %d %s", again.status, again.body)
		}
	})
}

func TestWaitsAndLimitsAreBounded(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                              "output c 0 1048576 0s",
		"?wait=24h":                     "output c 0 1048576 30s",
		"?offset=-1&limit=-5&wait=1.5s": "output c -1 1048576 1.5s",
		"?offset=7&limit=100":           "output c 7 100 0s",
		"?limit=99999999":               "output c 0 1048576 0s",
	} {
		e := newEdge(t, nil)
		e.do(http.MethodGet, sandbox+"/commands/c/output"+query, "")
		if diff := cmp.Diff([]string{want}, e.provider.calls); diff != "" {
			t.Errorf("%s (-want +got)\n%s", query, diff)
		}
	}
}

func TestAFilesNameMayBeAnyBytes(t *testing.T) {
	t.Parallel()
	e := newEdge(t, nil)
	got := e.do(http.MethodPut, sandbox+"/files?path=a%0A%ff%2F..&mode=493&size=4", "body", "Content-Type", agentapi.MediaBytes)
	if diff := cmp.Diff([]string{`write "a\n\xff/.." "body" 4 755`}, e.provider.calls); diff != "" || got.status != http.StatusOK {
		t.Errorf("%d %s (-want +got)\n%s", got.status, got.body, diff)
	}
}

func TestAReaderThatLeavesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	e := newEdge(t, nil)
	waiting, left := make(chan struct{}), make(chan struct{})
	e.provider.read = func(ctx context.Context, _ time.Duration) (berth.Output, error) {
		close(waiting)
		select {
		case <-ctx.Done():
			close(left)
		case <-time.After(time.Minute):
		}
		return berth.Output{}, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-waiting
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+sandbox+"/commands/c/output?wait=30s", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + token}, agentapi.InstallationHeader: {"mine"}}
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Error("it was answered")
	}
	select {
	case <-left:
	case <-time.After(time.Minute):
		t.Error("the provider still waits")
	}
}

func TestASecretIsInNoLogNorPrintedForm(t *testing.T) {
	t.Parallel()
	const canary = "canary-5f2b7c"
	e := newEdge(t, nil)
	spec := berth.CommandSpec{
		ID: "c", Argv: []string{"printenv"}, Env: map[string]string{"TOKEN": canary}, Mask: []berth.SecretValue{berth.NewSecretValue([]byte(canary))},
		Timeout: time.Second, Stdin: true, OutputCap: 5,
	}
	form := agentapi.CommandOf(spec)
	body, err := json.Marshal(form)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(form), fmt.Sprintf("%+v %#v %x", form, form, form.Env), slog.AnyValue(form).String()} {
		if strings.Contains(text, canary) || strings.Contains(text, "Y2FuYXJ5") || strings.Contains(text, "63616e617279") {
			t.Errorf("printed: %s", text)
		}
	}
	for _, err := range []error{nil, berth.Errorf(berth.CodeConflict, "it is taken"), errors.New("internal")} {
		e.provider.err = err
		if got := e.do(http.MethodPut, sandbox+"/commands/c", string(body)); strings.Contains(got.body, canary) {
			t.Errorf("the answer is %s", got.body)
		}
	}
	if diff := cmp.Diff(spec, e.provider.spec, cmp.Comparer(func(a, b berth.SecretValue) bool { return bytes.Equal(a.Reveal(), b.Reveal()) })); diff != "" {
		t.Errorf("the command did not arrive as it was (-want +got)\n%s", diff)
	}
	if text := e.log.String(); strings.Contains(text, canary) || strings.Contains(text, "Y2FuYXJ5") || strings.Contains(text, "printenv") || !strings.Contains(text, sandboxID) {
		t.Errorf("the log is %s", text)
	}
}
