package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

// serveFunc starts a server and a client of it.
func serveFunc(t *testing.T, h http.HandlerFunc, change ...func(*client.Config)) *client.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	cfg := client.Config{BaseURL: server.URL, Token: "t0ken", UserAgent: "test/1"}
	for _, c := range change {
		c(&cfg)
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func problem(w http.ResponseWriter, code berth.Code, errs ...berth.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code.Info().HTTP)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": code.Info().HTTP, "code": code, "detail": "what is wrong", "request_id": "req-1", "remediation": "do this", "errors": errs,
	})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func TestEveryCodeComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	for _, row := range berth.Codes {
		problems := []berth.Problem{{Location: "a.b", Message: "x"}, {Location: "query.limit", Message: "y"}}
		c := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) { problem(w, row.Code, problems...) },
			func(cfg *client.Config) { cfg.Patience = -1 })
		_, err := c.FindRun(t.Context(), "01")
		var e *berth.Error
		if !errors.As(err, &e) || e.Code != row.Code || e.Message != "what is wrong" || e.Remediation != "do this" {
			t.Errorf("%s came back as %v", row.Code, err)
			continue
		}
		if diff := cmp.Diff(problems, e.Problems); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", row.Code, diff)
		}
		if client.RequestID(err) != "req-1" {
			t.Errorf("%s: request id %q", row.Code, client.RequestID(err))
		}
		if shows := strings.Contains(err.Error(), "req-1"); shows != (row.Code == berth.CodeInternal) {
			t.Errorf("%s: the text is %q", row.Code, err)
		}
	}
}

func TestAnswersOfOtherServersAreNamedAsSuch(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status      int
		contentType string
		body        string
		code        berth.Code
		says        string
	}{
		"a web page":               {200, "text/html", "<html>hello</html>", berth.CodeUnavailable, "text/html"},
		"a web page that is lost":  {404, "text/html", "<html>", berth.CodeNotFound, "404"},
		"JSON of another form":     {200, "application/json", `["x"]`, berth.CodeUnavailable, "another form"},
		"an empty answer":          {200, "", "", berth.CodeUnavailable, "no content type"},
		"a gateway's own refusal":  {403, "application/json", `{"message":"Forbidden"}`, berth.CodeForbidden, "403"},
		"a proxy that is too busy": {503, "text/plain", "busy", berth.CodeUnavailable, "503"},
		"a redirect":               {302, "", "", berth.CodeInternal, "302"},
	} {
		var calls atomic.Int32
		c := serveFunc(t, func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			if row.contentType != "" {
				w.Header().Set("Content-Type", row.contentType)
			} else {
				w.Header()["Content-Type"] = nil
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(row.status)
			_, _ = io.WriteString(w, row.body)
		})
		_, err := c.FindRun(t.Context(), "01")
		if berth.CodeOf(err) != row.code || !strings.Contains(err.Error(), row.says) || !strings.Contains(err.Error(), "check the server's URL") {
			t.Errorf("%s: %v", name, err)
		}
		if calls.Load() != 1 {
			t.Errorf("%s was asked %d times", name, calls.Load())
		}
	}
}

func TestBadURLsAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "localhost:8080", "ftp://host", "http://", "http://h/?x=1", "http://h/#x", "://"} {
		if _, err := client.New(client.Config{BaseURL: bad}); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("New(%q): %v", bad, err)
		}
	}
}

func TestThePrefixIsAddedOnceAndIdsAreEscaped(t *testing.T) {
	t.Parallel()
	var got []string
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.RequestURI+" "+r.Header.Get("Authorization")+" "+r.UserAgent())
		mu.Unlock()
		reply(w, map[string]any{})
	}))
	defer server.Close()
	for _, suffix := range []string{"", "/", "/api/v1", "/stage/"} {
		c, err := client.New(client.Config{BaseURL: server.URL + suffix, Token: "t", UserAgent: "u"})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.FindEnvironment(t.Context(), "../a b/ü?#")
		_, _ = c.FindEnvironment(t.Context(), "..")
	}
	const a, b = "environments/..%2Fa%20b%2F%C3%BC%3F%23 Bearer t u", "environments/%2E%2E Bearer t u"
	want := []string{"/api/v1/" + a, "/api/v1/" + b, "/api/v1/" + a, "/api/v1/" + b, "/api/v1/" + a, "/api/v1/" + b, "/stage/api/v1/" + a, "/stage/api/v1/" + b}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// failing answers unavailable a number of times, then with {}.
func failing(times int32) (http.HandlerFunc, *atomic.Int32, func() []string) {
	var calls atomic.Int32
	var mu sync.Mutex
	var keys []string
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		mu.Unlock()
		if calls.Add(1) <= times {
			problem(w, berth.CodeUnavailable)
			return
		}
		reply(w, map[string]any{})
	}, &calls, func() []string { mu.Lock(); defer mu.Unlock(); return keys }
}

func TestWhatMayBeRepeatedIsRepeatedWhileTheServerIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		call  func(context.Context, *client.Client) error
		calls int32
	}{
		"a read": {func(ctx context.Context, c *client.Client) error { _, err := c.FindRun(ctx, "01"); return err }, 3},
		"an upsert": {func(ctx context.Context, c *client.Client) error {
			_, err := c.PutVariable(ctx, "A", "", false)
			return err
		}, 3},
		"a creation with a key": {func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateRun(ctx, berth.RunRequest{})
			return err
		}, 3},
		"a creation only": {func(ctx context.Context, c *client.Client) error {
			_, err := c.PutVariable(ctx, "A", "", true)
			return err
		}, 1},
		"a replacement": {func(ctx context.Context, c *client.Client) error {
			_, err := c.ReplaceEnvironment(ctx, "a", `"1"`, berth.Environment{})
			return err
		}, 1},
		"a deletion": {func(ctx context.Context, c *client.Client) error { return c.DeleteRun(ctx, "01") }, 1},
	} {
		h, calls, keys := failing(2)
		err := row.call(t.Context(), serveFunc(t, h))
		if (err == nil) != (row.calls == 3) || calls.Load() != row.calls {
			t.Errorf("%s: %d calls, %v", name, calls.Load(), err)
		}
		if strings.Contains(name, "key") && (keys()[0] == "" || keys()[0] != keys()[2]) {
			t.Errorf("%s: keys %v", name, keys())
		}
	}
}

func TestPatienceHasAnEnd(t *testing.T) {
	t.Parallel()
	h, calls, _ := failing(1 << 30)
	c := serveFunc(t, h, func(cfg *client.Config) { cfg.Patience = 300 * time.Millisecond })
	_, err := c.FindRun(t.Context(), "01")
	if berth.CodeOf(err) != berth.CodeUnavailable || calls.Load() < 2 || calls.Load() > 20 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.FindRun(ctx, "01"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestAServerThatIsNotThereYetIsWaitedForAlsoByARequestThatMustNotBeRepeated(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	c, err := client.New(client.Config{BaseURL: "http://" + address})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })}
	defer server.Close()
	time.AfterFunc(150*time.Millisecond, func() {
		if l, err := net.Listen("tcp", address); err == nil {
			_ = server.Serve(l)
		}
	})
	if err := c.DeleteRun(t.Context(), "01"); err != nil {
		t.Errorf("DeleteRun: %v", err)
	}
	quick, err := client.New(client.Config{BaseURL: "http://127.0.0.1:1", Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = quick.Health(t.Context())
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a server that is not there: %v", err)
	}
}

func TestFollowingOutlastsAServerThatComesBackElsewhere(t *testing.T) {
	t.Parallel()
	const events = 30
	serve := func() *httptest.Server {
		var server *httptest.Server
		var served atomic.Int32
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var after int64
			_ = json.Unmarshal([]byte(r.URL.Query().Get("after")), &after)
			if served.Add(1) > 5 {
				// It dies in the middle of an answer.
				server.Listener.Close()
				panic(http.ErrAbortHandler)
			}
			seq := after + 1
			reply(w, berth.EventsReply{Items: []berth.Event{{Seq: seq}}, NextAfter: seq, EOF: seq == events})
		}))
		return server
	}
	var located atomic.Int32
	c, err := client.New(client.Config{Locate: func(context.Context) (string, string, error) {
		located.Add(1)
		server := serve()
		t.Cleanup(server.Close)
		return server.URL, "t", nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	err = c.FollowEvents(t.Context(), "01", 0, func(e berth.Event) error { got = append(got, e.Seq); return nil })
	if err != nil || len(got) != events || got[events-1] != events {
		t.Errorf("events %v, %v", got, err)
	}
	if located.Load() < 5 {
		t.Errorf("the server was located %d times", located.Load())
	}
	stop := errors.New("enough")
	if err := c.FollowEvents(t.Context(), "01", 0, func(berth.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the caller: %v", err)
	}
}

func TestFollowedOutputComesOnceAndInOrder(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		var offset int64
		if s := r.URL.Query().Get("offset"); s != "" {
			_ = json.Unmarshal([]byte(s), &offset)
		}
		if calls.Add(1)%3 == 0 {
			problem(w, berth.CodeUnavailable)
			return
		}
		out := berth.OutputReply{Frames: []berth.Frame{{Stream: berth.Stdout, Data: []byte{byte('a' + offset)}}}, NextOffset: offset + 1}
		if offset == 20 {
			out = berth.OutputReply{Frames: []berth.Frame{}, NextOffset: offset, EOF: true, Exit: &berth.Exit{Code: 4, Reason: berth.ExitExited}}
		}
		reply(w, out)
	})
	var got []byte
	exit, err := c.FollowOutput(t.Context(), "01", "c", 0, func(r berth.OutputReply) error {
		for _, f := range r.Frames {
			got = append(got, f.Data...)
		}
		return nil
	})
	if err != nil || exit == nil || exit.Code != 4 || string(got) != "abcdefghijklmnopqrst" {
		t.Errorf("%q, exit %v, %v", got, exit, err)
	}
}

func TestTheTokenStaysWithTheServerThatItIsFor(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			leaked.Store(true)
		}
		_, _ = io.WriteString(w, "data")
	}))
	defer other.Close()
	c := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/files"):
			reply(w, berth.FileData{Info: berth.FileInfo{Kind: berth.FileRegular, Size: 4}, Data: []byte("da")})
		case r.URL.Path == "/api/v1/runs/01":
			http.Redirect(w, r, other.URL, http.StatusFound)
		default:
			reply(w, berth.Transfer{
				ID: "t", Status: berth.TransferDone, Size: 4, URL: other.URL + "/data?signature=s",
				SHA256: "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7",
			})
		}
	})
	var b strings.Builder
	if _, err := c.Download(t.Context(), client.File{Sandbox: "01", Path: "x"}, &b); err != nil || b.String() != "data" {
		t.Errorf("Download gave %q, %v", b.String(), err)
	}
	_, _ = c.FindRun(t.Context(), "01")
	if leaked.Load() {
		t.Error("the token was sent to another server")
	}
}

func TestAllGoesThroughEveryPage(t *testing.T) {
	t.Parallel()
	c := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"": "b", "b": "c"}[r.URL.Query().Get("cursor")]
		page := berth.List[berth.Variable]{Items: []berth.Variable{{Name: "v" + r.URL.Query().Get("cursor")}}}
		if next != "" {
			page.Next = &next
		}
		reply(w, page)
	})
	var got []string
	for v, err := range client.All(t.Context(), c.ListVariables) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v.Name)
	}
	if diff := cmp.Diff([]string{"v", "vb", "vc"}, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
}

func TestTheClientDoesWithoutTheServersLibraries(t *testing.T) {
	t.Parallel()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool in PATH")
	}
	out, err := exec.CommandContext(t.Context(), goTool, "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		own := strings.HasPrefix(dep, "github.com/berth-dev/berth/")
		if own && dep != "github.com/berth-dev/berth/shared/berth" && dep != "github.com/berth-dev/berth/shared/client" {
			t.Errorf("the client imports %s", dep)
		}
		if !own && strings.Contains(strings.Split(dep, "/")[0], ".") && !strings.HasPrefix(dep, "vendor/") {
			t.Errorf("the client imports %s", dep)
		}
	}
}
