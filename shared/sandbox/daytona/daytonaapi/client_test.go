package daytonaapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

const key = "dtn_super-secret-key"

// clock jumps over every sleep and keeps how long each was.
type clock struct {
	mu    sync.Mutex // guards all below
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func client(t testing.TB, url string) (*daytonaapi.Client, *clock) {
	t.Helper()
	k := &clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	c, err := daytonaapi.New(daytonaapi.Config{
		URL: url, UserAgent: "berth/test", Clock: k,
		Key: func(context.Context) (berth.SecretValue, error) { return berth.NewSecretValue([]byte(key + "\n")), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, k
}

// serve answers each request with the next of answers, and then with the last.
func serve(t testing.TB, answers ...http.HandlerFunc) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers[min(int(asked.Add(1)), len(answers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/api", asked
}

func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

const started = `{"id":"x","state":"started"}`

func find(c *daytonaapi.Client) error {
	s, err := c.FindSandbox(context.Background(), "x")
	if err == nil && s.State != daytonaapi.Started {
		return errors.New("another state")
	}
	return err
}

func TestPassingFaultsAreTriedAgain(t *testing.T) {
	t.Parallel()
	hangUp := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	cutBody := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		says(200, started)(w, r)
	}
	for name, fault := range map[string]http.HandlerFunc{
		"an empty 502":       says(502, "", "Content-Type", "text/plain"),
		"an HTML 503":        says(503, "<html>no</html>", "Content-Type", "text/html"),
		"too many requests":  says(429, `{"message":"slow down"}`),
		"a page with 200":    says(200, "<!DOCTYPE html><html></html>", "Content-Type", "text/html"),
		"a page as JSON":     says(200, "<html></html>"),
		"an empty 200":       says(200, ""),
		"half an answer":     says(200, `{"id":"x","st`),
		"a body that is cut": cutBody,
		"no answer":          hangUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, asked := serve(t, fault, fault, says(200, started))
			c, _ := client(t, url)
			if err := find(c); err != nil || asked.Load() != 3 {
				t.Errorf("%v after %d requests, want success after 3", err, asked.Load())
			}
		})
	}
}

// What a list leaves out would count as gone, a sandbox without an id as somebody
// else's, and a script without its end as one that succeeded.
func TestHalfAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`null`, `{}`, `{"state":"started"}`, `{"items":null}`, `{"items":[{}]}`, `{"items":[{"id":"x"}],"nextCursor":"a"}`, `{"result":"ok"}`, `{"statusCode":500}`,
	} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, says(200, answer))
			c, _ := client(t, url)
			toolbox, err := c.Toolbox(t.Context(), daytonaapi.Sandbox{ID: "x", ToolboxProxyURL: url})
			if err != nil {
				t.Fatal(err)
			}
			for call, err := range map[string]error{
				"FindSandbox":    second(c.FindSandbox(t.Context(), "x")),
				"CreateSandbox":  second(c.CreateSandbox(t.Context(), daytonaapi.NewSandbox{Name: "n"})),
				"FindSnapshot":   second(c.FindSnapshot(t.Context(), "x")),
				"CreateSnapshot": second(c.CreateSnapshot(t.Context(), daytonaapi.NewSnapshot{Name: "n"})),
				"ListSandboxes":  second(c.ListSandboxes(t.Context(), nil)),
				"Execute":        second(toolbox.Execute(t.Context(), "true", time.Second)),
			} {
				if berth.CodeOf(err) != berth.CodeUnavailable {
					t.Errorf("%s: %v, want unavailable", call, err)
				}
			}
		})
	}
}

func TestListsWithoutAnEndAreGivenUp(t *testing.T) {
	t.Parallel()
	n := new(atomic.Int64)
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		says(200, fmt.Sprintf(`{"items":[{"id":"x"}],"nextCursor":"%d","totalPages":1000000}`, n.Add(1)%3))(w, r)
	})
	c, _ := client(t, url)
	for call, err := range map[string]error{
		"ListSandboxes": second(c.ListSandboxes(t.Context(), nil)), "ListSnapshots": second(c.ListSnapshots(t.Context(), "berth-")),
	} {
		if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "has no end") {
			t.Errorf("%s: %v, want unavailable", call, err)
		}
	}
}

func TestAToolboxWhoseAddressIsNotKnownYetIsWaitedFor(t *testing.T) {
	t.Parallel()
	url, asked := serve(t, says(404, `{"message":"sandbox not found"}`), says(404, ""), says(200, `{"version":"1"}`))
	c, _ := client(t, url)
	toolbox, err := c.Toolbox(t.Context(), daytonaapi.Sandbox{ID: "x", ToolboxProxyURL: url})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := toolbox.Version(t.Context()); err != nil || v != "1" || asked.Load() != 3 {
		t.Errorf("Version = %q, %v after %d requests", v, err, asked.Load())
	}
	url, _ = serve(t, says(404, `{"message":"sandbox not found"}`))
	c, _ = client(t, url)
	if toolbox, err = c.Toolbox(t.Context(), daytonaapi.Sandbox{ID: "x", ToolboxProxyURL: url}); err != nil {
		t.Fatal(err)
	}
	if _, err := toolbox.Version(t.Context()); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Version of none: %v, want unavailable", err)
	}
}

func TestWhatMayHaveHappenedIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]http.HandlerFunc{
		"an empty 502": says(502, ""), "a page": says(200, "<html></html>", "Content-Type", "text/html"), "an empty 200": says(200, ""),
	} {
		url, asked := serve(t, fault)
		c, _ := client(t, url)
		for what, err := range map[string]error{
			"CreateSandbox":  second(c.CreateSandbox(t.Context(), daytonaapi.NewSandbox{Name: "n"})),
			"CreateSnapshot": second(c.CreateSnapshot(t.Context(), daytonaapi.NewSnapshot{Name: "n"})),
		} {
			if berth.CodeOf(err) != berth.CodeUnavailable {
				t.Errorf("%s: %s: %v, want unavailable", name, what, err)
			}
		}
		if asked.Load() != 2 {
			t.Errorf("%s: %d requests, want one each", name, asked.Load())
		}
	}
	url, asked := serve(t, says(429, ""), says(200, started)) // a refusal had no effect
	c, _ := client(t, url)
	if _, err := c.CreateSandbox(t.Context(), daytonaapi.NewSandbox{Name: "n"}); err != nil || asked.Load() != 2 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

func second[T any](_ T, err error) error { return err }

func TestAServersWishToBeLeftAloneIsHonouredWithinBounds(t *testing.T) {
	t.Parallel()
	for name, header := range map[string][]string{
		"in seconds":                    {"Retry-After", "7"},
		"of a limit":                    {"Retry-After-sandbox-create", "7"},
		"as a date":                     {"Retry-After", "Mon, 30 Nov 2026 12:00:07 GMT", "Date", "Mon, 30 Nov 2026 12:00:00 GMT"},
		"by a clock that is far ahead":  {"Retry-After", "Mon, 30 Nov 2026 18:00:07 GMT", "Date", "Mon, 30 Nov 2026 18:00:00 GMT"},
		"by a clock that is far behind": {"Retry-After", "Mon, 30 Nov 2026 02:00:07 GMT", "Date", "Mon, 30 Nov 2026 02:00:00 GMT"},
		"of several limits":             {"Retry-After-authenticated", "1", "Retry-After-sandbox-create", "7", "Retry-After", "2"},
		"nonsense, and nothing":         {"Retry-After", "soon"},
	} {
		url, _ := serve(t, says(429, "", header...), says(200, started))
		c, k := client(t, url)
		if err := find(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		asked := 7 * time.Second
		if strings.HasPrefix(name, "nonsense") {
			asked = 0
		}
		if len(k.slept) != 1 || k.slept[0] < asked || k.slept[0] > asked+time.Second {
			t.Errorf("%s: slept %v", name, k.slept)
		}
	}
	url, asked := serve(t, says(429, `{"message":"come back tomorrow"}`, "Retry-After", "86400"))
	c, k := client(t, url)
	if err := find(c); berth.CodeOf(err) != berth.CodeRateLimited || asked.Load() != 1 || len(k.slept) > 0 {
		t.Errorf("%v after %d requests, slept %v; want an error at once", err, asked.Load(), k.slept)
	}
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, says(502, ""))
	c, k := client(t, url)
	began := k.Now()
	err := find(c)
	if passed := k.Now().Sub(began); berth.CodeOf(err) != berth.CodeUnavailable || passed > 2*time.Minute || passed < time.Minute {
		t.Errorf("%v after %v", err, passed)
	}
	if !strings.Contains(err.Error(), "502") {
		t.Errorf("%v does not name the fault", err)
	}
}

func TestFailuresSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		code   berth.Code
		says   string
		asked  int64
	}{
		"a wrong URL":       {says(200, "<!DOCTYPE html><html></html>", "Content-Type", "text/html; charset=utf-8"), berth.CodeInvalid, "answers HTML: is the URL right?", 5},
		"a revoked key":     {says(401, `{"message":"Invalid credentials"}`), berth.CodeForbidden, "refuses the API key (unauthenticated)", 1},
		"a permission":      {says(403, `{"message":"Forbidden resource"}`), berth.CodeForbidden, "Forbidden resource", 1},
		"a quota":           {says(400, `{"message":"Total CPU limit exceeded. Maximum allowed: 10"}`), berth.CodeForbidden, "the quota of the Daytona organization", 1},
		"a list of faults":  {says(400, `{"message":["a is bad","b is bad"]}`), berth.CodeInvalid, "a is bad; b is bad", 1},
		"no JSON":           {says(400, `plain words`), berth.CodeInvalid, "plain words", 1},
		"a redirect":        {says(302, ``, "Location", "/login"), berth.CodeInvalid, "redirect", 1},
		"another form":      {says(200, `{"id":[]}`), berth.CodeUnavailable, "of a form that this berth does not know", 1},
		"nothing there":     {says(404, `{"message":"not found"}`), berth.CodeNotFound, "not found", 1},
		"a name that is":    {says(409, `{"message":"Sandbox with name x already exists"}`), berth.CodeConflict, "already exists", 1},
		"a very long story": {says(400, strings.Repeat("long ", 10_000)), berth.CodeInvalid, "…", 1},
		"a key that echoes": {says(400, `{"message":"no such key `+key+`"}`), berth.CodeInvalid, "no such key [secret]", 1},
		"too much to read":  {says(200, strings.Repeat(" ", 9<<20)), berth.CodeUnavailable, "more than 8 MiB", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, asked := serve(t, tt.answer)
			c, _ := client(t, url)
			err := find(c)
			if berth.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.says) {
				t.Errorf("%v (%s), want %s: … %s", err, berth.CodeOf(err), tt.code, tt.says)
			}
			if asked.Load() != tt.asked {
				t.Errorf("%d requests, want %d", asked.Load(), tt.asked)
			}
			if text := fmt.Sprintf("%+v %#v", err, err); strings.Contains(text, key) || len(text) > 3000 {
				t.Errorf("the error shows the key, or is too long: %s", text)
			}
		})
	}
}

func TestAKeyIsSentToDaytonaAndNowhereElse(t *testing.T) {
	t.Parallel()
	var other atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer elsewhere.Close()
	var header http.Header
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	c, _ := client(t, url)
	if err := find(c); err == nil || other.Load() != 0 {
		t.Errorf("%v, %d requests elsewhere", err, other.Load())
	}
	if header.Get("Authorization") != "Bearer "+key || header.Get("User-Agent") != "berth/test" {
		t.Errorf("headers %v", header)
	}
	secure, err := daytonaapi.New(daytonaapi.Config{URL: "https://127.0.0.1:1/api", Key: func(context.Context) (berth.SecretValue, error) {
		t.Error("the key was read for an address that must not get it")
		return berth.SecretValue{}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secure.Toolbox(t.Context(), daytonaapi.Sandbox{ID: "x", ToolboxProxyURL: elsewhere.URL}); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Toolbox without TLS: %v", err)
	}
}

func TestURLsThatCanBeNoneAreRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"app.daytona.io", "ftp://host/api", "https://", "https://user:word@host/api", "https://host/api?x=1", "http://[::1"} {
		if _, err := daytonaapi.New(daytonaapi.Config{URL: url}); berth.CodeOf(err) != berth.CodeInvalid || strings.Contains(err.Error(), "word@") {
			t.Errorf("New(%q): %v, want invalid", url, err)
		}
	}
}

func TestListsAreFollowedToTheirEnd(t *testing.T) {
	t.Parallel()
	url, asked := serve(t,
		says(200, `{"items":[{"id":"a"},{"id":"b"}],"nextCursor":"b"}`), says(200, `{"items":[],"nextCursor":"c"}`), says(200, `{"items":[{"id":"d"}],"nextCursor":null}`))
	c, _ := client(t, url)
	all, err := c.ListSandboxes(t.Context(), map[string]string{"a": "b"})
	if err != nil || len(all) != 3 || asked.Load() != 3 {
		t.Errorf("%+v, %v after %d requests", all, err, asked.Load())
	}
}
