package spritesapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

const token = "acme/canary-2f7d0b"

// hasty lets pauses pass at once, and counts them.
type hasty struct {
	mu    sync.Mutex
	slept time.Duration
}

func (*hasty) Now() time.Time { return time.Now() }

func (c *hasty) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept += d
	return ctx.Err()
}

func client(t *testing.T, answer http.HandlerFunc) (*spritesapi.Client, *hasty) {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	clock := &hasty{}
	c, err := spritesapi.New(spritesapi.Config{
		URL: s.URL, Clock: clock, Token: func(context.Context) (berth.SecretValue, error) { return berth.NewSecretValue([]byte(token)), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, clock
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// What a list leaves out would count as gone, and a sprite without its labels as
// somebody else's.
func TestHalfAnAnswerIsNone(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing":                        ``,
		"null":                           `null`,
		"an object without a word":       `{}`,
		"an answer that is cut":          `{"sprites":[{"name":"a"}`,
		"an error that is no failure":    `{"error":"internal"}`,
		"more without the way to it":     `{"sprites":[{"name":"a"}],"has_more":true}`,
		"sprites without a name":         `{"sprites":[{}],"has_more":false}`,
		"a page that leads to itself":    `{"sprites":[{"name":"a"}],"has_more":true,"next_continuation_token":"x"}`,
		"a list of something else":       `{"sprites":{"name":"a"}}`,
		"sprites in place of their list": `[{"name":"a"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := client(t, says(answer))
			if all, err := c.List(t.Context(), ""); berth.CodeOf(err) != berth.CodeUnavailable {
				t.Errorf("List = %+v, %v, want unavailable", all, err)
			}
			if s, err := c.Find(t.Context(), "a"); berth.CodeOf(err) != berth.CodeUnavailable {
				t.Errorf("Find = %+v, %v, want unavailable", s, err)
			}
		})
	}
	for _, none := range []string{`{"sprites":[],"has_more":false}`, `{"sprites":null}`} {
		c, _ := client(t, says(none))
		if all, err := c.List(t.Context(), ""); err != nil || len(all) != 0 {
			t.Errorf("List answered by %s = %+v, %v, want none", none, all, err)
		}
	}
}

func TestAListWithoutAnEndIsGivenUp(t *testing.T) {
	t.Parallel()
	n := 0
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		fmt.Fprintf(w, `{"sprites":[{"name":"a"}],"has_more":true,"next_continuation_token":"%d"}`, n%3)
	})
	if all, err := c.List(t.Context(), ""); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("List = %d sprites, %v, want unavailable", len(all), err)
	}
}

// A stream that ends early may have kept the disk, or not.
func TestACheckpointIsDoneWhenTheServiceSaysSo(t *testing.T) {
	t.Parallel()
	const begun = "{\"type\":\"info\",\"data\":\"creating checkpoint\"}\n"
	for name, c := range map[string]struct{ answer, says string }{
		"complete":                    {begun + "\n{\"type\":\"complete\",\"data\":\"v1\"}\n", ""},
		"no line end behind the end":  {begun + `{"type":"complete","data":"v1"}`, ""},
		"begun and no more":           {begun, "what became"},
		"cut in a line":               {begun + `{"type":"comp`, "something else"},
		"words behind the end":        {begun + "{\"type\":\"complete\"}\n<html>", "something else"},
		"an error behind the end":     {"{\"type\":\"complete\"}\n{\"type\":\"error\",\"error\":\"storage is wedged\"}\n", "storage is wedged"},
		"an error that shows a token": {`{"type":"error","error":"no rights for ` + token + `"}`, "no rights for [secret]"},
		"nothing":                     {"", "what became"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := client(t, says(c.answer))
			err := client.CreateCheckpoint(t.Context(), "a", "x")
			if c.says == "" && err != nil || c.says != "" && (berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("CreateCheckpoint = %v, want %q", err, c.says)
			}
		})
	}
}

func TestWhatTheServiceSaysIsBoundedAndNeverTheToken(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 409, 429, 500} {
		c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"message":"Bearer %s is no good\nat all %s"}`, token, strings.Repeat("ö", 1<<16))
		})
		_, err := c.Find(t.Context(), "a")
		if text := fmt.Sprint(err); len(text) > 1000 || strings.Contains(text, "canary") || strings.Contains(text, "\n") || !strings.Contains(text, "no good at all") {
			t.Errorf("%d: %.2000q", status, text)
		}
	}
}

// Whose token is bad is the server's, and not that of who asks.
func TestATokenThatIsNoneIsNotTheCallers(t *testing.T) {
	t.Parallel()
	c, _ := client(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	if _, err := c.Find(t.Context(), "a"); berth.CodeOf(err) != berth.CodeForbidden {
		t.Errorf("Find = %v, want forbidden", err)
	}
}

func TestARateLimitIsWaitedForByTheServersClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"that is right": 0, "that is fast": time.Hour, "that is slow": -time.Hour} {
		t.Run("a clock "+name, func(t *testing.T) {
			t.Parallel()
			first := true
			c, clock := client(t, func(w http.ResponseWriter, _ *http.Request) {
				if first {
					first = false
					now := time.Now().Add(ahead).UTC()
					w.Header().Set("Date", now.Format(http.TimeFormat))
					w.Header().Set("Retry-After", now.Add(7*time.Second).Format(http.TimeFormat))
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				_, _ = w.Write([]byte(`{"name":"a"}`))
			})
			if _, err := c.Find(t.Context(), "a"); err != nil || clock.slept != 7*time.Second {
				t.Errorf("Find after %v: %v", clock.slept, err)
			}
		})
	}
}

func TestATokenFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	led := false
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		led = true
		_, _ = w.Write([]byte(`{"name":"a"}`))
	}))
	t.Cleanup(other.Close)
	c, _ := client(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	})
	if s, err := c.Find(t.Context(), "a"); berth.CodeOf(err) != berth.CodeInvalid || led {
		t.Errorf("Find = %+v, %v, want invalid; led %t", s, err, led)
	}
	if _, err := c.Open(t.Context(), "a", spritesapi.Command{Argv: []string{"true"}}); berth.CodeOf(err) != berth.CodeInvalid || led {
		t.Errorf("Open = %v, want invalid; led %t", err, led)
	}
}
