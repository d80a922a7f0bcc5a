package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

const dockerEnvironment = `{"id":"ci","provider":"docker","image":{"docker":"buildpack-deps:noble"},"resources":{"cpu":2,"memory":"4GB"}}`

func TestAnEnvironmentIsCreatedShownChangedAndDeleted(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		made := c.want(201, "POST /environments", dockerEnvironment)
		if got := made.Header.Get("Location"); got != "/api/v1/environments/ci" {
			t.Errorf("Location %q", got)
		}
		tag := made.Header.Get("ETag")
		env := httpapitest.JSON[berth.Environment](t, made)
		if env.Network.Mode != berth.NetworkAllowAll || !env.Lifecycle.StopOnTerminal || env.Labels == nil {
			t.Errorf("fields that were left out lack their defaults: %s", made.Body)
		}
		if strings.Contains(string(made.Body), "$schema") {
			t.Errorf("the body holds $schema: %s", made.Body)
		}

		shown := c.want(200, "GET /environments/ci", "")
		if shown.Header.Get("ETag") != tag {
			t.Errorf("ETag %q after creation with %q", shown.Header.Get("ETag"), tag)
		}
		patched := c.want(200, "PATCH /environments/ci", `{"resources":{"memory":"8GB","cpu":null},"env":{"A":"1"}}`, "If-Match: "+tag)
		env = httpapitest.JSON[berth.Environment](t, patched)
		if env.Resources.CPU != nil || *env.Resources.Memory != "8GB" || env.Env["A"] != "1" || *env.Image.Docker != "buildpack-deps:noble" {
			t.Errorf("the merge patch gave %s", patched.Body)
		}
		// Also where the document has no null elsewhere: it is held to this too.
		patched = c.want(200, "PATCH /environments/ci", `{"env":{"A":null},"labels":null,"network":{"mode":null,"allow":null},"docker":null}`, "If-Match: "+patched.Header.Get("ETag"))
		if env = httpapitest.JSON[berth.Environment](t, patched); len(env.Env) != 0 || env.Network.Mode != berth.NetworkAllowAll {
			t.Errorf("a merge patch of nulls gave %s", patched.Body)
		}
		tag2 := patched.Header.Get("ETag")
		if tag2 == tag {
			t.Error("the ETag did not change")
		}
		replaced := c.want(200, "PUT /environments/ci", `{"provider":"docker"}`, `If-Match: "999", `+tag2)
		env = httpapitest.JSON[berth.Environment](t, replaced)
		if env.Resources.Memory != nil || len(env.Env) != 0 {
			t.Errorf("a replacement kept old fields: %s", replaced.Body)
		}
		c.wantProblem(berth.CodeStale, []string{"header.If-Match"}, "DELETE /environments/ci", "", "If-Match: "+tag2)
		gone := c.want(204, "DELETE /environments/ci", "", "If-Match: *")
		if len(gone.Body) != 0 {
			t.Errorf("204 with the body %q", gone.Body)
		}
		c.wantProblem(berth.CodeNotFound, nil, "GET /environments/ci", "")
	})
}

func TestAChangeOfAnEnvironmentNeedsTheETagThatWasRead(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.want(201, "POST /environments", dockerEnvironment)
		where := []string{"header.If-Match"}
		for _, change := range []struct{ line, body string }{
			{"PUT /environments/ci", `{"provider":"docker"}`},
			{"PATCH /environments/ci", `{"labels":{"a":"b"}}`},
			{"DELETE /environments/ci", ""},
		} {
			c.wantProblem(berth.CodePreconditionRequired, where, change.line, change.body)
			for _, bad := range []string{"1", `"1`, `"1" "2"`, `"1",`, `"a b"`, `*, "1"`} {
				c.wantProblem(berth.CodeMalformed, where, change.line, change.body, "If-Match: "+bad)
			}
			for _, stale := range []string{`"7"`, `W/"1"`, `"", "x"`} {
				c.wantProblem(berth.CodeStale, where, change.line, change.body, "If-Match: "+stale)
			}
		}
		c.want(200, "GET /environments/ci", "")
		c.wantProblem(berth.CodeNotFound, nil, "PUT /environments/nope", `{"provider":"docker"}`, "If-Match: *")
	})
}

func TestAChangeOfWhateverIsThereIsMadeOfWhatOthersMadeMeanwhile(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.want(201, "POST /environments", dockerEnvironment)
		another := func(label string) func() {
			return func() {
				e, err := f.store.FindEnvironment(context.Background(), "ci")
				must(t, err)
				e.Labels[label] = "x"
				_, err = f.store.ReplaceEnvironment(context.Background(), e.Environment, e.Version)
				must(t, err)
			}
		}
		f.plane.meanwhile = another("first")
		patched := httpapitest.JSON[berth.Environment](t, c.want(200, "PATCH /environments/ci", `{"labels":{"own":"x"}}`, "If-Match: *"))
		if diff := cmp.Diff(map[string]string{"first": "x", "own": "x"}, patched.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		f.plane.meanwhile = another("second")
		tag := c.want(200, "GET /environments/ci", "").Header.Get("ETag")
		c.wantProblem(berth.CodeStale, []string{"header.If-Match"}, "PATCH /environments/ci", `{"labels":{"late":"x"}}`, "If-Match: "+tag)
		f.plane.meanwhile = another("third")
		c.want(204, "DELETE /environments/ci", "", "If-Match: *")
	})
}

func TestTheETagOfADeletedEnvironmentMatchesNoOtherOfItsName(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		old := c.want(201, "POST /environments", `{"id":"ci","provider":"docker","labels":{"of":"one person"}}`).Header.Get("ETag")
		c.want(204, "DELETE /environments/ci", "", "If-Match: "+old)
		c.want(201, "POST /environments", `{"id":"ci","provider":"docker","labels":{"of":"another"}}`)
		c.wantProblem(berth.CodeStale, []string{"header.If-Match"}, "PUT /environments/ci", `{"provider":"docker"}`, "If-Match: "+old)
	})
}

func TestEveryFaultOfAnEnvironmentIsNamedAtOnceAndNoValueIsEchoed(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		const canary = "c4n4ry"
		body := `{"id":"CI/` + canary + `","provider":"docker","memroy":"` + canary + `","resources":{"cpu":"` + canary + `","memory":"512","disk":"1.5GB"},
			"network":{"mode":"` + canary + `","allow":["` + canary + `"]},"labels":{"a":1},"labels":{},"env":{"A=` + canary + `":"x"}}`
		resp := c.send("POST /environments", body)
		wantProblem(t, resp, berth.CodeInvalid, []string{
			"labels", "labels.a", "memroy", "network.mode", "resources.cpu",
			"id", "resources.memory", "resources.disk", "network.allow[0]", `env["A=…"]`,
		}, "many faults")
		if strings.Contains(string(resp.Body), canary) {
			t.Errorf("the problem echoes a value: %s", resp.Body)
		}
	})
}

func TestBadEnvironments(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		for _, row := range []struct {
			name, body string
			code       berth.Code
			where      []string
			says       string
		}{
			{"an unknown key names the nearest one", `{"id":"a","provider":"docker","resources":{"memroy":"4GB"}}`, berth.CodeInvalid, []string{"resources.memroy"}, "memory"},
			{"a key that is there twice", `{"id":"a","id":"a","provider":"docker"}`, berth.CodeInvalid, []string{"id"}, "twice"},
			{"trailing garbage", `{"id":"a","provider":"docker"} x`, berth.CodeMalformed, nil, "behind"},
			{"a second document", `{"id":"a","provider":"docker"}{}`, berth.CodeMalformed, nil, "behind"},
			{"no JSON", `{"id":`, berth.CodeMalformed, nil, "early"},
			{"a wrong type", `{"id":"a","provider":"docker","resources":{"cpu":"2"}}`, berth.CodeInvalid, []string{"resources.cpu"}, "whole number"},
			{"a fraction", `{"id":"a","provider":"docker","resources":{"cpu":1.5}}`, berth.CodeInvalid, []string{"resources.cpu"}, "whole number"},
			{"an id with a slash", `{"id":"a/b","provider":"docker"}`, berth.CodeInvalid, []string{"id"}, "lower-case"},
			{"an id of dots", `{"id":"..","provider":"docker"}`, berth.CodeInvalid, []string{"id"}, "lower-case"},
			{"an id in upper case", `{"id":"CI","provider":"docker"}`, berth.CodeInvalid, []string{"id"}, "lower-case"},
			{"an id of 64 characters", `{"id":"` + strings.Repeat("a", 64) + `","provider":"docker"}`, berth.CodeInvalid, []string{"id"}, "63"},
			{"no id", `{"provider":"docker"}`, berth.CodeInvalid, []string{"id"}, ""},
			{"memory without a unit", `{"id":"a","provider":"docker","resources":{"memory":"512"}}`, berth.CodeInvalid, []string{"resources.memory"}, "unit"},
			{"a CIDR without a prefix", `{"id":"a","provider":"docker","network":{"mode":"cidr_allow_list","allow":["10.0.0.1"]}}`, berth.CodeInvalid, []string{"network.allow[0]"}, ""},
			{"two faults at once", `{"id":"A","provider":"docker","resources":{"memory":"0"},"x":1}`, berth.CodeInvalid, []string{"x", "id", "resources.memory"}, ""},
			{"an object where a list belongs", `{"id":"a","provider":"docker","network":{"allow":{}}}`, berth.CodeInvalid, []string{"network.allow"}, "a list"},
			{"a list", `[]`, berth.CodeInvalid, []string{""}, "an object"},
			{"nothing", ``, berth.CodeMalformed, nil, "empty"},
		} {
			p := c.wantProblem(row.code, row.where, "POST /environments", row.body, "Content-Type: application/json")
			if all := fmt.Sprint(p.Detail, p.Errors); !strings.Contains(all, row.says) {
				t.Errorf("%s: %s does not say %q", row.name, all, row.says)
			}
		}
		list := httpapitest.JSON[berth.List[berth.Environment]](t, c.want(200, "GET /environments", ""))
		if len(list.Items) != 0 {
			t.Errorf("bad input created %v", list.Items)
		}
	})
}

func TestABadPatchChangesNothing(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		before := c.want(201, "POST /environments", dockerEnvironment)
		for _, row := range []struct {
			name, body string
			code       berth.Code
			where      []string
		}{
			{"an unknown key that is removed", `{"resources":{"memroy":null}}`, berth.CodeInvalid, []string{"resources.memroy"}},
			{"an unknown key", `{"image":{"dokcer":"x"}}`, berth.CodeInvalid, []string{"image.dokcer"}},
			{"another id", `{"id":"other"}`, berth.CodeInvalid, []string{"id"}},
			{"a removed provider", `{"provider":null}`, berth.CodeInvalid, []string{"provider"}},
			{"no object", `[1]`, berth.CodeInvalid, nil},
			{"no JSON", `{`, berth.CodeMalformed, nil},
		} {
			t.Log(row.name)
			c.wantProblem(row.code, row.where, "PATCH /environments/ci", row.body, "If-Match: *")
		}
		c.wantProblem(berth.CodeUnsupportedMedia, []string{"header.Content-Type"}, "PATCH /environments/ci", `{}`, "If-Match: *", "Content-Type: application/json")
		after := c.want(200, "GET /environments/ci", "")
		if diff := cmp.Diff(string(before.Body), string(after.Body)); diff != "" {
			t.Errorf("a refused patch changed the environment:\n%s", diff)
		}
	})
}

func TestTheSyntheticEnvironmentIsReserved(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.wantProblem(berth.CodeConflict, []string{"path.id"}, "PUT /environments/local", `{"provider":"local"}`, "If-Match: *")
		c.wantProblem(berth.CodeConflict, []string{"path.id"}, "DELETE /environments/local", "", "If-Match: *")
	})
}

func TestOfTwoReplacementsAtOnceOneWins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	tag := c.want(201, "POST /environments", dockerEnvironment).Header.Get("ETag")
	const writers = 8
	statuses := make([]int, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			resp := c.send("PUT /environments/ci", fmt.Sprintf(`{"provider":"docker","labels":{"by":"w%d"}}`, i), "If-Match: "+tag)
			statuses[i] = resp.Status
		})
	}
	wg.Wait()
	count := map[int]int{}
	for _, s := range statuses {
		count[s]++
	}
	if diff := cmp.Diff(map[int]int{200: 1, 412: writers - 1}, count); diff != "" {
		t.Errorf("statuses of replacements at once (-want +got):\n%s", diff)
	}
}

func TestListsHavePages(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		var want []string
		for i := range 5 {
			id := fmt.Sprintf("e%d", i)
			want = append(want, id)
			c.want(201, "POST /environments", `{"id":"`+id+`","provider":"docker"}`)
		}
		var got []string
		for cursor, pages := "", 0; ; pages++ {
			page := httpapitest.JSON[berth.List[berth.Environment]](t, c.want(200, "GET /environments?limit=2&cursor="+cursor, ""))
			for _, e := range page.Items {
				got = append(got, string(e.ID))
			}
			if page.Next == nil {
				break
			}
			if cursor = *page.Next; pages > 5 {
				t.Fatal("the list does not end")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		for _, bad := range []string{"0", "101", "-1", "x", "1.5", "+5", "99999999999999999999"} {
			c.wantProblem(berth.CodeInvalid, []string{"query.limit"}, "GET /environments?limit="+strings.ReplaceAll(bad, "+", "%2B"), "")
		}
		c.wantProblem(berth.CodeMalformed, []string{"query.cursor"}, "GET /environments?cursor=rubbish", "")
		c.wantProblem(berth.CodeInvalid, []string{"query.page"}, "GET /environments?page=2", "")
		c.wantProblem(berth.CodeInvalid, []string{"query.limit"}, "GET /environments?limit=2&limit=3", "")
	})
}

func TestAListOfLargeItemsFitsIntoAnAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	const variables = 80
	value := strings.Repeat("\\u0001", 60<<10) // six times as long in the answer
	for i := range variables {
		c.want(201, fmt.Sprintf("PUT /variables/V%02d", i), `{"value":"`+value[:6*(12<<10)]+`"}`)
	}
	seen := 0
	for cursor, pages := "", 0; pages < variables; pages++ {
		resp := c.want(200, "GET /variables?limit=100&cursor="+cursor, "")
		if len(resp.Body) > 4<<20 {
			t.Fatalf("an answer of %d bytes", len(resp.Body))
		}
		page := httpapitest.JSON[berth.List[berth.Variable]](t, resp)
		seen += len(page.Items)
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	if seen != variables {
		t.Errorf("the pages held %d variables of %d", seen, variables)
	}
}

// serve gives a caller over HTTP alone, for what only goes there.
func serve(t *testing.T, f *fixture) caller {
	t.Helper()
	var c caller
	c.t = t
	c.do = httpapitest.OverHTTP(t, http.Handler(f.api))
	return c
}
