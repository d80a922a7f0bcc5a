package httpapi_test

import (
	"encoding/base64"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
)

func TestAVariableIsSetShownAndDeleted(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.want(201, "PUT /variables/A", `{"value":"1"}`)
		v := httpapitest.JSON[berth.Variable](t, c.want(200, "PUT /variables/A", `{"value":"2"}`))
		if v.Name != "A" || v.Value != "2" {
			t.Errorf("stored %+v", v)
		}
		c.wantProblem(berth.CodeStale, []string{"header.If-None-Match"}, "PUT /variables/A", `{"value":"3"}`, "If-None-Match: *")
		c.wantProblem(berth.CodeMalformed, []string{"header.If-None-Match"}, "PUT /variables/A", `{"value":"3"}`, `If-None-Match: "1"`)
		if v := httpapitest.JSON[berth.Variable](t, c.want(200, "GET /variables/A", "")); v.Value != "2" {
			t.Errorf("a refused creation changed the value to %q", v.Value)
		}
		c.want(201, "PUT /variables/B", `{"value":""}`, "If-None-Match: *")
		list := httpapitest.JSON[berth.List[berth.Variable]](t, c.want(200, "GET /variables", ""))
		if len(list.Items) != 2 || list.Next != nil {
			t.Errorf("list %+v", list)
		}
		c.want(204, "DELETE /variables/A", "")
		c.wantProblem(berth.CodeNotFound, nil, "DELETE /variables/A", "")
		c.wantProblem(berth.CodeInvalid, []string{"value"}, "PUT /variables/B", `{}`)
		c.wantProblem(berth.CodeInvalid, []string{"value"}, "PUT /variables/A", `{"value":"a\u0000b"}`)
		c.wantProblem(berth.CodeInvalid, []string{"value"}, "PUT /variables/A", `{"value":"`+strings.Repeat("x", 64<<10+1)+`"}`)
		c.wantProblem(berth.CodeInvalid, []string{"path.name", "vlaue"}, "PUT /variables/a-b", `{"vlaue":"x"}`)
	})
}

func (f *fixture) secret(name string) (string, error) {
	v, err := f.secrets.Read(f.t.Context(), "user/"+name)
	return string(v.Reveal()), err
}

func TestASecretIsSetAndItsValueNeverComesBack(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		const value = "v4lue-one"
		answers := []httpapitest.Response{
			c.want(201, "PUT /secrets/S", `{"value":"`+value+`","description":"d"}`),
			c.want(200, "GET /secrets/S", ""),
			c.want(200, "GET /secrets", ""),
			c.want(200, "PUT /secrets/S", `{"value":"`+value+`2","type":"file"}`),
		}
		for _, a := range answers {
			if strings.Contains(string(a.Body), value) {
				t.Errorf("an answer holds the value: %s", a.Body)
			}
		}
		s := httpapitest.JSON[berth.Secret](t, answers[0])
		if s.Type != berth.SecretToken || s.Description != "d" {
			t.Errorf("stored %+v", s)
		}
		if got, err := f.secret("S"); err != nil || got != value+"2" {
			t.Errorf("the store holds %q, %v", got, err)
		}
		c.wantProblem(berth.CodeStale, []string{"header.If-None-Match"}, "PUT /secrets/S", `{"value":"intruder"}`, "If-None-Match: *")
		if got, _ := f.secret("S"); got != value+"2" {
			t.Errorf("a refused creation replaced the value by %q", got)
		}
		c.want(204, "DELETE /secrets/S", "")
		if _, err := f.secret("S"); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("after the deletion the store says %v", err)
		}
		c.wantProblem(berth.CodeNotFound, nil, "DELETE /secrets/S", "")
		for range 3 { // a removed name can be set again, over and over
			c.want(201, "PUT /secrets/S", `{"value":"again and again"}`)
			c.want(204, "DELETE /secrets/S", "")
		}
	})
}

func TestASecretOfAnyBytesGoesThroughBase64(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		raw := "\x00\xff\nbinary\r\n"
		c.want(201, "PUT /secrets/B", `{"value_base64":"`+base64.StdEncoding.EncodeToString([]byte(raw))+`"}`)
		if got, _ := f.secret("B"); got != raw {
			t.Errorf("the store holds %q", got)
		}
	})
}

func TestAMalformedSecretBodyEchoesNothing(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		const canary = "hunter2hunter2"
		for body, code := range ordered(map[string]berth.Code{
			`{"value":"` + canary:                  berth.CodeMalformed,
			`{"value":"` + canary + `"} ` + canary: berth.CodeMalformed,
			canary:                                 berth.CodeMalformed,
			`"` + canary + `"`:                     berth.CodeInvalid,
			`{"` + canary + `":""}`:                berth.CodeInvalid,
			`{"value":["` + canary + `"]}`:         berth.CodeInvalid,
			`{"value":"` + canary + `","value":"` + canary + `"}`:     berth.CodeInvalid,
			`{"value":"` + canary + `","type":"` + canary + `"}`:      berth.CodeInvalid,
			`{"value":"` + canary + `","value_base64":"aHVudGVyMg"}`:  berth.CodeInvalid,
			`{"value":"` + canary + `","extra":{"` + canary + `":1}}`: berth.CodeInvalid,
			`{"value":{"` + canary + `":1}}`:                          berth.CodeInvalid,
			`{"value":"` + canary + "\xff\"}":                         berth.CodeMalformed,
		}) {
			resp := c.send("PUT /secrets/S", body)
			if p := httpapitest.JSON[struct{ Code berth.Code }](t, resp); p.Code != code {
				t.Errorf("%s: code %s, want %s", body, p.Code, code)
			}
			if strings.Contains(string(resp.Body), canary) {
				t.Errorf("the problem echoes the value: %s", resp.Body)
			}
		}
		if log := f.log.String(); strings.Contains(log, canary) {
			t.Errorf("the log holds the value:\n%s", log)
		}
		c.wantProblem(berth.CodeNotFound, nil, "GET /secrets/S", "")
	})
}

func TestSecretsHaveASize(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.wantProblem(berth.CodeInvalid, []string{"value"}, "PUT /secrets/S", `{"value":"12345"}`)
		c.want(201, "PUT /secrets/S", `{"value":"123456"}`)
		c.want(200, "PUT /secrets/S", `{"value":"`+strings.Repeat("x", 64<<10)+`"}`)
		c.wantProblem(berth.CodeInvalid, []string{"value"}, "PUT /secrets/S", `{"value":"`+strings.Repeat("x", 64<<10+1)+`"}`)
		c.wantProblem(berth.CodeInvalid, []string{"value"}, "PUT /secrets/S", `{}`)
		c.wantProblem(berth.CodeInvalid, []string{"value_base64"}, "PUT /secrets/S", `{"value":"123456","value_base64":"MTIzNDU2"}`)
	})
}

func TestOfManyThatCreateASecretOneWinsWithItsValue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	const writers = 6
	statuses := make([]int, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			value := strings.Repeat(string(rune('a'+i)), 10)
			statuses[i] = c.send("PUT /secrets/S", `{"value":"`+value+`"}`, "If-None-Match: *").Status
		})
	}
	wg.Wait()
	winner := -1
	count := map[int]int{}
	for i, s := range statuses {
		count[s]++
		if s == 201 {
			winner = i
		}
	}
	if diff := cmp.Diff(map[int]int{201: 1, 412: writers - 1}, count); diff != "" {
		t.Fatalf("statuses (-want +got):\n%s", diff)
	}
	if got, err := f.secret("S"); err != nil || got != strings.Repeat(string(rune('a'+winner)), 10) {
		t.Errorf("the store holds %q, %v; the winner was %d", got, err, winner)
	}
}
