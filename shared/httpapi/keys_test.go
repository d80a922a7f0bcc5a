package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

// withKeys makes a fixture's API take keys beside the token, and make the same
// ones in both ways of serving.
func withKeys(cfg *httpapi.Config) {
	cfg.Authenticator = httpapi.BearerTokens(access.NewAuthenticator(access.Config{
		Records: cfg.Records, Clock: cfg.Clock, Token: testToken, Logger: cfg.Logger,
	}))
	cfg.Random = rand.NewChaCha8([32]byte{1})
}

// bothWithKeys is both for an API that takes keys.
func bothWithKeys(t *testing.T, scenario func(t *testing.T, f *fixture, c caller)) {
	t.Helper()
	t.Parallel()
	var f *fixture
	httpapitest.Both(t, func(t *testing.T) http.Handler {
		f = newFixture(t, withKeys)
		return f.served(t)
	}, func(t *testing.T, do httpapitest.Do) {
		scenario(t, f, caller{t, served.noting(t, do)})
	})
}

func as(value string) string { return "Authorization: Bearer " + value }

// issue makes a key with these scopes alone, asking nobody.
func (f *fixture) issue(grant berth.Key) (berth.Key, string) {
	f.t.Helper()
	keys := access.Keys{Records: f.store, Clock: f.clock, IDs: f.cfg.IDs, Random: f.cfg.Random}
	key, value, err := keys.Issue(f.t.Context(), grant)
	must(f.t, err)
	return key, string(value.Reveal())
}

func TestAKeyIsMadeShownOnceListedUsedAndRemoved(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		resp := c.want(201, "POST /keys", `{"name":"ci","scopes":["run","read"],"expires_in":"30d"}`)
		key := httpapitest.JSON[berth.IssuedKey](t, resp)
		if !access.IsValue(key.Value) || key.Prefix != access.Shown(key.Value) || resp.Header.Get("Location") != "/api/v1/keys/"+string(key.ID) {
			t.Errorf("created %+v at %s", key, resp.Header.Get("Location"))
		}
		expires := f.clock.Now().Add(30 * 24 * time.Hour)
		want := berth.Key{
			ID: key.ID, Name: "ci", Prefix: key.Prefix, Scopes: []berth.Scope{berth.ScopeRead, berth.ScopeRun},
			CreatedBy: "local", CreatedAt: f.clock.Now(), ExpiresAt: &expires,
		}
		if diff := cmp.Diff(want, key.Key); diff != "" {
			t.Errorf("the key (-want +got):\n%s", diff)
		}
		resp = c.want(200, "GET /keys", "")
		list := httpapitest.JSON[berth.List[berth.Key]](t, resp)
		if diff := cmp.Diff([]berth.Key{want}, list.Items); diff != "" || strings.Contains(string(resp.Body), key.Value[12:]) {
			t.Errorf("the list (-want +got):\n%s\n%s", diff, resp.Body)
		}
		who := httpapitest.JSON[berth.Principal](t, c.want(200, "GET /whoami", "", as(key.Value)))
		if diff := cmp.Diff(berth.Principal{Name: "ci", Scopes: want.Scopes, Key: key.ID}, who); diff != "" {
			t.Errorf("whoami (-want +got):\n%s", diff)
		}
		c.want(200, "GET /environments", "", as(key.Value))
		used := httpapitest.JSON[berth.List[berth.Key]](t, c.want(200, "GET /keys", "")).Items[0]
		if used.LastUsedAt == nil || !used.LastUsedAt.Equal(f.clock.Now()) {
			t.Errorf("last used at %v", used.LastUsedAt)
		}
		c.want(204, "DELETE /keys/"+string(key.ID)[:26], "")
		c.wantProblem(berth.CodeUnauthenticated, nil, "GET /environments", "", as(key.Value))
		c.wantProblem(berth.CodeNotFound, []string{"path.id"}, "DELETE /keys/"+string(key.ID), "")
		if list := httpapitest.JSON[berth.List[berth.Key]](t, c.want(200, "GET /keys", "")); len(list.Items) != 0 {
			t.Errorf("after the removal: %+v", list)
		}
	})
}

func TestAReplayNeverShowsTheValueAgain(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, _ *fixture, c caller) {
		const body = `{"name":"ci","scopes":["read"]}`
		first := httpapitest.JSON[berth.IssuedKey](t, c.want(201, "POST /keys", body, "Idempotency-Key: k"))
		resp := c.want(201, "POST /keys", body, "Idempotency-Key: k")
		again := httpapitest.JSON[berth.IssuedKey](t, resp)
		if again.ID != first.ID || again.Value != "" || resp.Header.Get("Idempotent-Replayed") != "true" || strings.Contains(string(resp.Body), first.Value[12:]) {
			t.Errorf("replayed %s", resp.Body)
		}
		c.wantProblem(berth.CodeInvalid, []string{"header.Idempotency-Key"}, "POST /keys", `{"name":"ci","scopes":["run"]}`, "Idempotency-Key: k")
		if list := httpapitest.JSON[berth.List[berth.Key]](t, c.want(200, "GET /keys", "")); len(list.Items) != 1 {
			t.Errorf("%d keys were made", len(list.Items))
		}
		c.want(204, "DELETE /keys/"+string(first.ID), "")
		c.wantProblem(berth.CodeNotFound, nil, "POST /keys", body, "Idempotency-Key: k")
	})
}

// A server that dies between making a key and noting it leaves one key and not
// two, of which the second attempt cannot know whether it was shown.
func TestAnAttemptThatBrokeOffMakesNoSecondKey(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		const body = `{"name":"ci","scopes":["read"]}`
		first := httpapitest.JSON[berth.IssuedKey](t, c.want(201, "POST /keys", body, "Idempotency-Key: k"))
		// Take the note of its end away again.
		item, err := f.store.Table.Get(t.Context(), "idem#create-key", "k")
		must(t, err)
		item.Body = regexp.MustCompile(`"resource":"[^"]*",|"http":\d+,`).ReplaceAll(item.Body, nil)
		_, err = f.store.Table.Put(t.Context(), item)
		must(t, err)
		c.wantProblem(berth.CodeConflict, nil, "POST /keys", body, "Idempotency-Key: k")
		f.clock.advance(2 * time.Minute)
		resp := c.want(201, "POST /keys", body, "Idempotency-Key: k")
		again := httpapitest.JSON[berth.IssuedKey](t, resp)
		if again.ID != first.ID || again.Value != "" || resp.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the second attempt answers %s", resp.Body)
		}
		if list := httpapitest.JSON[berth.List[berth.Key]](t, c.want(200, "GET /keys", "")); len(list.Items) != 1 {
			t.Errorf("%d keys were made", len(list.Items))
		}
		c.want(200, "GET /runs", "", as(first.Value))
	})
}

func TestFaultsOfAKeyRequestAreAllNamed(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, _ *fixture, c caller) {
		for body, want := range ordered(map[string][]string{
			`{}`:                                 {"name", "scopes"},
			`{"name":"Ci!","scopes":["read"]}`:   {"name"},
			`{"name":"local","scopes":["read"]}`: {"name"},
			`{"name":"ci","scopes":["read","root","read"]}`:               {"scopes[1]", "scopes[2]"},
			`{"name":"ci","scopes":["host"]}`:                             {"scopes[0]"},
			`{"name":"ci","scopes":["none"],"expires_in":"30"}`:           {"scopes[0]", "expires_in"},
			`{"name":"ci","scopes":["read"],"expires_in":"366d"}`:         {"expires_in"},
			`{"name":"ci","scopes":["read"],"expires_in":"0d"}`:           {"expires_in"},
			`{"name":"ci","scopes":["read"],"value":"bth_mine"}`:          {"value"},
			`{"name":"ci","scopes":["read"],"created_at":"2020","id":""}`: {"created_at", "id"},
		}) {
			if p := c.wantProblem(berth.CodeInvalid, want, "POST /keys", body); strings.Contains(p.Detail, "bth_mine") {
				t.Errorf("%s: the problem echoes the value", body)
			}
		}
		c.wantProblem(berth.CodeInvalid, []string{"path.id"}, "DELETE /keys/ci", "")
		if list := httpapitest.JSON[berth.List[berth.Key]](t, c.want(200, "GET /keys", "")); len(list.Items) != 0 {
			t.Errorf("made %+v", list.Items)
		}
	})
}

func TestAKeyGivesNoScopeThatItLacks(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		_, admin := f.issue(berth.Key{Name: "a", Scopes: []berth.Scope{berth.ScopeAdmin}})
		p := c.wantProblem(berth.CodeForbidden, []string{"scopes"}, "POST /keys", `{"name":"b","scopes":["admin","run","read"]}`, as(admin))
		if !strings.Contains(p.Detail, "read, run") || strings.Contains(p.Detail, "admin") {
			t.Errorf("the refusal says %q", p.Detail)
		}
		key := httpapitest.JSON[berth.IssuedKey](t, c.want(201, "POST /keys", `{"name":"b","scopes":["admin"]}`, as(admin)))
		if key.CreatedBy != "a" {
			t.Errorf("created by %q", key.CreatedBy)
		}
		// What a key made stays when it is removed, and can remove it.
		list := httpapitest.JSON[berth.List[berth.Key]](t, c.want(200, "GET /keys", "", as(key.Value)))
		c.want(204, "DELETE /keys/"+string(list.Items[0].ID), "", as(key.Value))
		c.wantProblem(berth.CodeUnauthenticated, nil, "GET /keys", "", as(admin))
		c.want(200, "GET /keys", "", as(key.Value))
	})
}

func TestKeysCountUntilTheyExpire(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		key := httpapitest.JSON[berth.IssuedKey](t, c.want(201, "POST /keys", `{"name":"ci","scopes":["read"],"expires_in":"1h"}`))
		f.clock.advance(time.Hour - time.Millisecond)
		c.want(200, "GET /runs", "", as(key.Value))
		f.clock.advance(time.Millisecond)
		p := c.wantProblem(berth.CodeUnauthenticated, nil, "GET /runs", "", as(key.Value))
		if !strings.Contains(p.Detail, "expired") || strings.Contains(p.Detail, "ci") {
			t.Errorf("the refusal says %q", p.Detail)
		}
		// Who has only the beginning of it learns nothing.
		p = c.wantProblem(berth.CodeUnauthenticated, nil, "GET /runs", "", as(key.Value[:46]+"!"))
		if strings.Contains(p.Detail, "expired") {
			t.Errorf("the refusal of a part says %q", p.Detail)
		}
		f.clock.advance(31 * 24 * time.Hour)
		p = c.wantProblem(berth.CodeUnauthenticated, nil, "GET /runs", "", as(key.Value))
		if strings.Contains(p.Detail, "expired") {
			t.Errorf("long after, the refusal says %q", p.Detail)
		}
		if list := httpapitest.JSON[berth.List[berth.Key]](t, c.want(200, "GET /keys", "")); len(list.Items) != 0 {
			t.Errorf("long after, the list is %+v", list.Items)
		}
	})
}

// Every answer to a token that stands for nobody is the same, but for the
// request's id: it is no way to find out about keys.
func TestNothingIsLearnedFromARefusal(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		known := httpapitest.JSON[berth.IssuedKey](t, c.want(201, "POST /keys", `{"name":"ci","scopes":["read"]}`))
		removed := httpapitest.JSON[berth.IssuedKey](t, c.want(201, "POST /keys", `{"name":"gone","scopes":["read"]}`))
		c.want(204, "DELETE /keys/"+string(removed.ID), "")
		var said []string
		for _, token := range []string{
			"x", "bth_", removed.Value, known.Value[:46] + "_", known.Value + "x", strings.ToUpper(known.Value),
			"bth_" + strings.Repeat("A", 43), string(known.ID), known.Prefix, "bth_" + known.Prefix, testToken[:31] + "x",
			strings.Repeat("y", 5000), "bth_" + strings.Repeat("é", 21) + "a",
		} {
			if token == known.Value { // the 47th character happened to be the same
				continue
			}
			p := c.wantProblem(berth.CodeUnauthenticated, nil, "GET /runs", "", as(token))
			p.RequestID = ""
			b, err := json.Marshal(p)
			must(t, err)
			said = append(said, string(b))
		}
		for _, s := range said {
			if s != said[0] {
				t.Errorf("one refusal is %s, another %s", said[0], s)
			}
		}
	})
}

func TestAKeyThatIsRemovedDuringALongPollEndsWithIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, withKeys)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	key, value := f.issue(berth.Key{Name: "ci", Scopes: []berth.Scope{berth.ScopeRead}})
	answered := make(chan httpapitest.Response, 1)
	go func() {
		answered <- c.send("GET /runs/"+string(runA)+"/events?after=1&wait=20s", "", as(value))
	}()
	f.awaitUse(key.ID)
	must(t, f.store.DeleteKey(t.Context(), key.ID))
	f.endRun(runA)
	select {
	case resp := <-answered:
		if resp.Status != 200 {
			t.Errorf("the poll that had begun: %d %s", resp.Status, resp.Body)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the poll did not end")
	}
	c.wantProblem(berth.CodeUnauthenticated, nil, "GET /runs/"+string(runA)+"/events?wait=20s", "", as(value))
}

// awaitUse waits until a key was let in.
func (f *fixture) awaitUse(id berth.KeyID) {
	f.t.Helper()
	for range 1000 {
		key, err := f.store.FindKey(context.Background(), id)
		must(f.t, err)
		if key.LastUsedAt != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.t.Fatal("the key was not used")
}

func TestAStreamEndsSoonAfterItsKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, withKeys)
	f.seedRun(runA, sandboxA)
	key, value := f.issue(berth.Key{Name: "ci", Scopes: []berth.Scope{berth.ScopeRead}})
	server := httptest.NewServer(f.api)
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/runs/"+string(runA)+"/events", nil)
	must(t, err)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+value)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	f.awaitUse(key.ID)
	must(t, f.store.DeleteKey(t.Context(), key.ID))
	f.clock.advance(20 * time.Second)
	f.appendOutput(runA, command, 0, frames("stdout:one\n")) // wakes the stream
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	if !strings.Contains(string(body), "event: problem") || !strings.Contains(string(body), `"unauthenticated"`) {
		t.Errorf("the stream ended with\n%s", body)
	}
}

// A key's value is in the answer that shows it, and nowhere else.
func TestAKeysValueIsInNoLogAndNoItem(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		key := httpapitest.JSON[berth.IssuedKey](t, c.want(201, "POST /keys", `{"name":"ci","scopes":["read","admin"]}`, "Idempotency-Key: k"))
		canary := key.Value[12:] // what is behind the shown prefix
		answers := []httpapitest.Response{
			c.send("POST /keys", `{"name":"ci","scopes":["read","admin"]}`, "Idempotency-Key: k"),
			c.send("GET /keys", "", as(key.Value)),
			c.send("GET /whoami", "", as(key.Value)),
			c.send("DELETE /runs/"+string(runA), "", as(key.Value)),
			c.send("GET /runs/"+string(runA), "", as(key.Value)),
			c.send("GET /runs?"+key.Value+"=1", "", as(key.Value)),
			c.send("POST /keys", `{"name":"`+key.Value+`","scopes":["`+key.Value+`"],"`+key.Value+`":1}`, as(key.Value)),
		}
		for i, resp := range answers {
			// An unknown name is repeated, so that a typing mistake can be found.
			if i < 5 && strings.Contains(string(resp.Body), canary) {
				t.Errorf("answer %d holds the value: %s", i, resp.Body)
			}
		}
		if strings.Contains(f.log.String(), canary) {
			t.Errorf("the log holds the value:\n%s", f.log.String())
		}
		for _, pk := range []string{"key", "keyhash", "idem#create-key"} {
			page, err := f.store.Table.Query(t.Context(), berth.Query{PK: pk, Limit: 100})
			must(t, err)
			if len(page.Items) == 0 {
				t.Errorf("there is no item under %s", pk)
			}
			for _, item := range page.Items {
				if text := item.PK + item.SK + item.Projected + string(item.Body); strings.Contains(text, canary) {
					t.Errorf("an item holds the value: %s", text)
				}
			}
		}
		if !strings.Contains(f.log.String(), `"key":"`+string(key.ID)+`"`) {
			t.Errorf("the log does not name the key:\n%s", f.log.String())
		}
	})
}
