package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

func TestPathsAndMethodsThatAreNotThereAreProblems(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		for _, line := range []string{
			"GET /nope", "GET //", "GET //api/v1", "GET //api/v2/runs", "GET /environments/", "GET /environments/a/b",
			"GET /environments/../runs", "GET /./runs", "GET /runs/..", "GET //api//v1/runs", "GET //api/v1//runs", "GET /runs/x/nope",
		} {
			c.wantProblem(berth.CodeNotFound, nil, line, "")
		}
		for line, allow := range ordered(map[string]string{
			"PATCH /runs": "GET, POST", "DELETE /environments": "GET, POST", "POST /environments/a": "GET, PUT, PATCH, DELETE", "OPTIONS /runs": "GET, POST", "PUT /health": "GET",
		}) {
			resp := c.send(line, "")
			wantProblem(t, resp, berth.CodeNotFound, nil, line)
			if got := resp.Header.Get("Allow"); got != allow {
				t.Errorf("%s: Allow %q, want %q", line, got, allow)
			}
		}
	})
}

func TestIdsInPathsAreParsedAtTheEdge(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		for _, id := range []string{"UP", "a%2Fb", "%2e%2e", "..%2f..", strings.Repeat("a", 64), "a%20b", "%00", "ü", "a%3Fb", "-a"} {
			c.wantProblem(berth.CodeInvalid, []string{"path.id"}, "GET /environments/"+id, "")
		}
		for _, id := range []string{"short", "01kjm8e40u", "..%2fx", "zzzzzzzz"} {
			c.wantProblem(berth.CodeInvalid, []string{"path.id"}, "GET /runs/"+id, "")
			c.wantProblem(berth.CodeInvalid, []string{"path.id"}, "GET /sandboxes/"+id, "")
		}
		c.wantProblem(berth.CodeInvalid, []string{"path.name"}, "GET /variables/1x", "")
		c.wantProblem(berth.CodeInvalid, []string{"path.name"}, "PUT /secrets/a-b", `{"value":"long enough"}`)
		c.wantProblem(berth.CodeInvalid, []string{"path.id"}, "GET /transfers/abc", "")
	})
}

func TestRequestsWithoutAValidTokenAreRefused(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		for _, header := range []string{
			"Authorization: ", "Authorization: Bearer", "Authorization: Bearer ", "Authorization: Basic " + testToken,
			"Authorization: " + testToken, "Authorization: Bearer " + testToken + "x", "Authorization: Bearer " + testToken[1:],
		} {
			resp := c.send("GET /environments", "", header)
			wantProblem(t, resp, berth.CodeUnauthenticated, nil, header)
			if got := resp.Header.Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("WWW-Authenticate %q", got)
			}
			if strings.Contains(string(resp.Body), testToken[1:]) {
				t.Errorf("the problem echoes the token: %s", resp.Body)
			}
		}
		c.want(200, "GET /environments", "", "Authorization: bearer "+testToken)
		for _, open := range []string{"/health", "/version", "/openapi.json"} {
			c.want(200, "GET "+open, "", "Authorization: ")
		}
	})
}

func TestIdentityIsNeverReadFromInjectedHeaders(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		forged := `{"authorizer":{"principalId":"root","scopes":"admin"},"accountId":"1"}`
		c.wantProblem(berth.CodeUnauthenticated, nil, "GET /whoami", "", "Authorization: ",
			"X-GoLambdaProxy-ApiGw-Context: "+forged, "X-GoLambdaProxy-ApiGw-StageVars: {}")
		who := httpapitest.JSON[berth.Principal](t, c.want(200, "GET /whoami", "", "X-GoLambdaProxy-ApiGw-Context: "+forged))
		if who.Name != "local" || len(who.Scopes) != 3 {
			t.Errorf("whoami %+v", who)
		}
	})
}

type fixedPrincipal berth.Principal

func (p fixedPrincipal) Authenticate(*http.Request) (berth.Principal, error) {
	return berth.Principal(p), nil
}

func TestEveryRouteAsksForItsScope(t *testing.T) {
	t.Parallel()
	all := []berth.Scope{berth.ScopeRead, berth.ScopeRun, berth.ScopeAdmin, berth.ScopeHost}
	for _, held := range all {
		f := newFixture(t, func(cfg *httpapi.Config) {
			cfg.Authenticator = fixedPrincipal{Name: "key", Scopes: []berth.Scope{held}, Host: "UPPER"}
		})
		c := serve(t, f)
		for _, route := range httpapi.Routes {
			path := strings.NewReplacer("{id}", "UPPER", "{name}", "1", "{cid}", "UPPER").Replace(route.Path)
			resp := c.send(route.Method+" "+path, "")
			refused := resp.Status == http.StatusForbidden
			want := route.Scope != berth.ScopeNone && route.Scope != httpapi.ScopeAny && route.Scope != held
			if refused != want {
				t.Errorf("%s with the scope %s: status %d\n%s", route.ID, held, resp.Status, resp.Body)
			}
		}
	}
}

func TestABodyOverTheCapIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := httptest.NewServer(f.api)
	defer server.Close()
	for name, body := range map[string]io.Reader{
		"declared": strings.NewReader(strings.Repeat("x", 11<<20)),
		"chunked":  io.LimitReader(endless{}, 11<<20),
	} {
		counted := &countingReader{r: body}
		req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/api/v1/environments", counted)
		must(t, err)
		if name == "declared" {
			req.ContentLength = 11 << 20
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Expect", "100-continue")
		resp, err := (&http.Transport{ExpectContinueTimeout: 10 * time.Second}).RoundTrip(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := httpapitest.Response{Status: resp.StatusCode, Header: resp.Header, Body: readAll(t, resp.Body)}
		resp.Body.Close()
		wantProblem(t, got, berth.CodeTooLarge, nil, name)
		if name == "declared" && counted.n != 0 {
			t.Errorf("%d bytes of a body that is too large were sent", counted.n)
		}
	}
}

func TestAClientThatSendsAllBeforeItReadsGetsTheAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := httptest.NewServer(f.api)
	t.Cleanup(server.Close)
	body := strings.Repeat("x", 11<<20)
	for name, c := range map[string]struct {
		token, framing string
		want           string
	}{
		"declared":        {testToken, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), "413"},
		"chunked":         {testToken, fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body), "413"},
		"unauthenticated": {"nobody", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), "401"},
	} {
		conn := dial(t, server)
		_, err := io.WriteString(conn, "POST /api/v1/environments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer "+c.token+"\r\n"+c.framing)
		if err != nil {
			t.Errorf("%s: sending: %v", name, err)
			continue
		}
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.want+" ") || !strings.Contains(string(answer), `"code"`) {
			t.Errorf("%s: answer %.80q, %v; want a problem with status %s", name, answer, err, c.want)
		}
	}
}

func TestAClientThatSendsPartOfABodyIsAnsweredAtOnceWhenItIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := httptest.NewServer(f.api)
	t.Cleanup(server.Close)
	conn := dial(t, server)
	_, err := io.WriteString(conn, "POST /api/v1/environments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	must(t, err)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 401 ") {
		t.Errorf("answer %q, %v; want 401", line, err)
	}
}

func TestABodyThatStopsComingTimesOut(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for half a minute, which is what it is about")
	}
	t.Parallel()
	f := newFixture(t)
	server := httptest.NewServer(f.api)
	t.Cleanup(server.Close)
	conn := dial(t, server)
	_, err := io.WriteString(conn, "POST /api/v1/environments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+testToken+"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	must(t, err)
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 504 ") || !strings.Contains(string(answer), `"timed_out"`) {
		t.Errorf("answer %.200q, %v; want a problem with status 504", answer, err)
	}
}

// dial opens a connection that no test waits on for ever.
func dial(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	return conn
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func TestBodiesOverTheCapAreTooLargeEitherWay(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.wantProblem(berth.CodeTooLarge, nil, "PUT /variables/A", `{"value":"`+strings.Repeat("x", 4<<20)+`"}`)
		c.wantProblem(berth.CodeTooLarge, nil, "POST /runs/"+string(runA)+"/cancel", strings.Repeat("x", 5<<10))
	})
}

func TestContentTypesAreChecked(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		body := `{"value":"x"}`
		for _, good := range []string{"application/json", "application/json; charset=utf-8", `APPLICATION/JSON; charset="UTF-8"`} {
			if resp := c.send("PUT /variables/A", body, "Content-Type: "+good); resp.Status > 299 {
				t.Errorf("%s: status %d", good, resp.Status)
			}
		}
		for _, bad := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "nonsense;;", "", "application/merge-patch+json"} {
			c.wantProblem(berth.CodeUnsupportedMedia, []string{"header.Content-Type"}, "PUT /variables/A", body, "Content-Type: "+bad)
		}
	})
}

func TestABodyInACodingIsRefused(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.want(201, "PUT /variables/A", `{"value":"x"}`, "Content-Encoding: identity")
		c.wantProblem(berth.CodeUnsupportedMedia, []string{"header.Content-Encoding"}, "PUT /variables/A", `{"value":"x"}`, "Content-Encoding: gzip")
	})
}

func TestAHeaderThatIsThereTwiceIsRefusedUnlessItIsAList(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		tag := c.want(201, "POST /environments", dockerEnvironment).Header.Get("ETag")
		for _, name := range []string{"Idempotency-Key", "Content-Type"} {
			r := request(t, "POST /environments", []byte(`{"id":"two","provider":"docker"}`), "Authorization: Bearer "+testToken, name+": application/json")
			r.Header[name] = append(r.Header[name], "other")
			wantProblem(t, c.do(r), berth.CodeInvalid, []string{"header." + name}, name)
		}
		c.wantProblem(berth.CodeNotFound, nil, "GET /environments/two", "")
		r := request(t, "DELETE /environments/ci", nil, "Authorization: Bearer "+testToken)
		r.Header["If-Match"] = []string{`"1-000000000000"`, tag}
		if resp := c.do(r); resp.Status != 204 {
			t.Errorf("the tags in two lines: status %d\n%s", resp.Status, resp.Body)
		}
	})
}

func TestABadEscapeInTheQueryIsMalformed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, query := range []string{"limit=%zz", "limit=%", "%q=1", "a;b"} {
		req := httptest.NewRequest("GET", "/api/v1/environments", nil)
		req.URL.RawQuery = query
		req.Header.Set("Authorization", "Bearer "+testToken)
		w := httptest.NewRecorder()
		f.api.ServeHTTP(w, req)
		wantProblem(t, httpapitest.Response{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}, berth.CodeMalformed, nil, query)
	}
}

func TestRequestsThatCannotBeReadAreProblems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := httptest.NewUnstartedServer(f.api)
	server.Listener = f.api.Listener(server.Listener)
	server.Start()
	defer server.Close()
	for name, row := range map[string]struct {
		head string
		code berth.Code
	}{
		"a bad escape":          {"GET /api/v1/runs/%zz HTTP/1.1\r\nHost: localhost\r\n", berth.CodeMalformed},
		"an escape cut short":   {"GET /api/v1/runs/%2 HTTP/1.1\r\nHost: localhost\r\n", berth.CodeMalformed},
		"no Host":               {"GET /api/v1/health HTTP/1.1\r\n", berth.CodeMalformed},
		"a header of no form":   {"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nno colon\r\n", berth.CodeMalformed},
		"headers without end":   {"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nA: " + strings.Repeat("x", 2<<20) + "\r\n", berth.CodeTooLarge},
		"an expectation":        {"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nExpect: miracles\r\n", berth.CodeMalformed},
		"a coding of the body":  {"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n", berth.CodeMalformed},
		"another version":       {"GET /api/v1/health HTTP/3.0\r\nHost: localhost\r\n", berth.CodeMalformed},
		"a path without a root": {"GET http://localhost HTTP/1.1\r\nHost: localhost\r\n", berth.CodeNotFound},
		"a connect":             {"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n", berth.CodeNotFound},
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		must(t, err)
		must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		go func() { fmt.Fprintf(conn, "%s\r\n", row.head) }()
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := httpapitest.Response{Status: resp.StatusCode, Header: resp.Header, Body: readAll(t, resp.Body)}
		places := map[string][]string{"an expectation": {"header.Expect"}, "a coding of the body": {"header.Transfer-Encoding"}}
		wantProblem(t, got, row.code, places[name], name)
		conn.Close()
	}
	resp, err := server.Client().Get(server.URL + "/api/v1/health")
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("an ordinary request: status %d", resp.StatusCode)
	}
}

func TestOnlyLocalNamesReachALoopbackListener(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *httpapi.Config) { cfg.Hosts = []string{"berth.internal"} })
	server := httptest.NewServer(f.api)
	defer server.Close()
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:1": 200, "127.0.0.1": 200, "[::1]:80": 200, "berth.internal:8080": 200,
		"evil.example": 403, "evil.example:80": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403,
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/api/v1/health", nil)
		must(t, err)
		req.Host = host
		resp, err := server.Client().Do(req)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host %s: status %d, want %d", host, resp.StatusCode, want)
		}
	}
}

func TestAHeadRequestIsAGetWithoutABody(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.want(201, "POST /environments", dockerEnvironment)
		shown := c.want(200, "GET /environments/ci", "")
		head := c.want(200, "HEAD /environments/ci", "")
		if len(head.Body) != 0 || head.Header.Get("ETag") != shown.Header.Get("ETag") || head.Header.Get("Content-Length") != fmt.Sprint(len(shown.Body)) {
			t.Errorf("HEAD: body %q, headers %v", head.Body, head.Header)
		}
		if resp := c.want(404, "HEAD /environments/nope", ""); len(resp.Body) != 0 {
			t.Errorf("HEAD of nothing has the body %q", resp.Body)
		}
	})
}

func TestInternalErrorsAndPanicsShowAFixedSentence(t *testing.T) {
	const canary = "s3cret-detail"
	both(t, func(t *testing.T, f *fixture, c caller) {
		for _, fail := range []func(context.Context, berth.RunRequest) (berth.RunID, error){
			func(context.Context, berth.RunRequest) (berth.RunID, error) { return "", errors.New(canary) },
			func(context.Context, berth.RunRequest) (berth.RunID, error) {
				return "", berth.Errorf(berth.CodeInternal, canary)
			},
			func(context.Context, berth.RunRequest) (berth.RunID, error) { panic(canary) },
		} {
			f.plane.createRun = fail
			p := c.wantProblem(berth.CodeInternal, nil, "POST /runs", `{"command":["true"]}`)
			if strings.Contains(fmt.Sprint(p), canary) {
				t.Errorf("the problem shows an internal error: %+v", p)
			}
			if log := f.log.String(); !strings.Contains(log, canary) || !strings.Contains(log, p.RequestID) {
				t.Errorf("the log lacks the error or the request id %s:\n%s", p.RequestID, log)
			}
		}
		c.want(200, "GET /health", "")
	})
}

func TestEveryAnswerHasARequestIDAndIsNotKept(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		for _, line := range []string{"GET /health", "GET /nope", "GET /runs/x", "GET /environments"} {
			resp := c.send(line, "", "X-Request-Id: chosen-by-the-client")
			if id := resp.Header.Get("X-Request-Id"); !berth.IsULID(id) {
				t.Errorf("%s: X-Request-Id %q", line, id)
			}
			if got := resp.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("%s: Cache-Control %q", line, got)
			}
		}
	})
}

func TestTheAccessLogHoldsNoBodiesQueriesOrTokens(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		const canary = "c4n4ryc4n4ry"
		c.want(201, "PUT /secrets/S", `{"value":"`+canary+`"}`)
		c.want(201, "PUT /variables/V", `{"value":"`+canary+`"}`)
		c.send("GET /environments?"+canary+"="+canary, "")
		c.send("PUT /secrets/S", `{"value":"`+canary+`",`)
		log := f.log.String()
		if strings.Contains(log, canary) || strings.Contains(log, testToken) {
			t.Errorf("the log holds what it must not:\n%s", log)
		}
		if !strings.Contains(log, `"operation":"put-secret"`) || !strings.Contains(log, `"status":201`) || !strings.Contains(log, `"by":"local"`) {
			t.Errorf("the log lacks what it is for:\n%s", log)
		}
	})
}

func TestTheServiceRoutesAnswer(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		if h := httpapitest.JSON[berth.Health](t, c.want(200, "GET /health", "")); h.Status != "ok" {
			t.Errorf("health %+v", h)
		}
		if v := httpapitest.JSON[berth.Version](t, c.want(200, "GET /version", "")); v.Version != "1.2.3" || v.API != "v1" {
			t.Errorf("version %+v", v)
		}
		doc := httpapitest.JSON[map[string]any](t, c.want(200, "GET /openapi.json", ""))
		if doc["openapi"] != "3.1.0" {
			t.Errorf("openapi %v", doc["openapi"])
		}
	})
}

func TestOneRoutesFunctionShowsTheWholeDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, err := httpapi.Operation("find-openapi", f.cfg)
	must(t, err)
	f.api = one
	doc := httpapitest.JSON[struct{ Paths map[string]any }](t, serve(t, f).want(200, "GET /openapi.json", ""))
	if len(doc.Paths) < 25 {
		t.Errorf("the document describes %d paths", len(doc.Paths))
	}
}
