package httpapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
	"github.com/berth-dev/berth/shared/records"
)

// calledBack answers for every agent as a good one does.
type calledBack struct{}

func (calledBack) Call(context.Context, control.HostCall) (control.HostAnswer, error) {
	return control.HostAnswer{Installation: "inst", Providers: map[berth.ProviderKind]string{berth.ProviderDocker: ""}}, nil
}

// answers keeps the tokens that were answered.
type answers struct {
	berth.Orchestrator
	tokens []string
}

func (a *answers) Answer(_ context.Context, token string, _ []byte) error {
	a.tokens = append(a.tokens, token)
	return nil
}

// newHosts is the control plane's own part about hosts, whose agents are in memory.
func newHosts(f *fixture) (*control.Plane, *answers) {
	woken := &answers{}
	return &control.Plane{
		Records: f.store, Secrets: f.secrets, IDs: f.store.IDs, Clock: f.clock, Installation: "inst", Caller: calledBack{},
		Orchestrator: woken, Providers: control.Providers{}, Logger: slog.New(slog.DiscardHandler), Random: rand.NewChaCha8([32]byte{2}),
	}, woken
}

const capacity = `"cpu":8,"memory_bytes":34359738368,"disk_bytes":0,"architecture":"amd64","version":"1.0.0"`

// joinBody is of another machine for each token.
func joinBody(token string) string {
	return fmt.Sprintf(`{"token":%q,"address":"https://10.0.0.7:7443","fingerprint":"sha256:%x","bearer":%q,"providers":["docker"],"labels":{"zone":"b","disk":"ssd"},%s}`,
		token, sha256.Sum256([]byte(token)), strings.Repeat("b", 43), capacity)
}

// joined adds a host and lets it join, and returns its key.
func joined(t *testing.T, c caller, id string) string {
	t.Helper()
	token := httpapitest.JSON[berth.JoinToken](t, c.want(201, "POST /hosts", `{"id":"`+id+`","labels":{"zone":"a"}}`))
	return httpapitest.JSON[berth.JoinedHost](t, c.want(200, "POST /hosts/join", joinBody(token.Token), "Authorization: ")).Key
}

func TestAHostIsAddedJoinsBeatsDrainsAndIsRemoved(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		resp := c.want(201, "POST /hosts", `{"id":"eu-1","labels":{"zone":"a"}}`)
		token := httpapitest.JSON[berth.JoinToken](t, resp)
		if token.Host.Status != berth.HostJoining || !token.ExpiresAt.Equal(f.clock.Now().Add(10*time.Minute)) ||
			!strings.HasPrefix(token.Token, access.JoinPrefix) || resp.Header.Get("Location") != "/api/v1/hosts/eu-1" {
			t.Errorf("added %+v at %s", token, resp.Header.Get("Location"))
		}
		answer := httpapitest.JSON[berth.JoinedHost](t, c.want(200, "POST /hosts/join", joinBody(token.Token), "Authorization: "))
		if answer.Installation != "inst" || !access.IsValue(answer.Key) || answer.Host.Status != berth.HostReady ||
			answer.Host.Labels["zone"] != "a" || answer.Host.Labels["disk"] != "ssd" {
			t.Errorf("joined as %+v", answer)
		}
		key := as(answer.Key)
		f.clock.advance(6 * time.Minute)
		if h := httpapitest.JSON[berth.Host](t, c.want(200, "GET /hosts/eu-1", "")); h.Status != berth.HostLost || h.SeenAt != nil {
			t.Errorf("after six minutes of silence it is %+v", h)
		}
		c.want(204, "POST /hosts/eu-1/heartbeat", `{`+strings.Replace(capacity, "8", "4", 1)+`}`, key)
		list := httpapitest.JSON[berth.List[berth.Host]](t, c.want(200, "GET /hosts", ""))
		if len(list.Items) != 1 || list.Items[0].Status != berth.HostReady || list.Items[0].CPU != 4 || list.Items[0].SeenAt == nil {
			t.Errorf("after a heartbeat the list is %+v", list.Items)
		}
		if h := httpapitest.JSON[berth.Host](t, c.want(200, "POST /hosts/eu-1/drain", `{"draining":true}`)); h.Status != berth.HostDraining {
			t.Errorf("drained, it is %s", h.Status)
		}
		if h := httpapitest.JSON[berth.Host](t, c.want(200, "POST /hosts/eu-1/drain", `{"draining":false}`)); h.Status != berth.HostReady {
			t.Errorf("undrained, it is %s", h.Status)
		}
		c.want(204, "DELETE /hosts/eu-1", "")
		c.wantProblem(berth.CodeUnauthenticated, nil, "POST /hosts/eu-1/heartbeat", `{`+capacity+`}`, key)
		c.wantProblem(berth.CodeNotFound, []string{"path.id"}, "GET /hosts/eu-1", "")
		c.wantProblem(berth.CodeNotFound, []string{"path.id"}, "DELETE /hosts/eu-1", "")
		if _, err := f.secrets.Read(t.Context(), "provider/host/eu-1"); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("its bearer is still there: %v", err)
		}
	})
}

func TestARepeatedAdditionDoesNotShowTheToken(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, _ *fixture, c caller) {
		first := httpapitest.JSON[berth.JoinToken](t, c.want(201, "POST /hosts", `{}`, "Idempotency-Key: a"))
		again := c.want(201, "POST /hosts", `{}`, "Idempotency-Key: a")
		second := httpapitest.JSON[berth.JoinToken](t, again)
		if first.Token == "" || second.Token != "" || second.Host.ID != first.Host.ID || !second.ExpiresAt.Equal(first.ExpiresAt) ||
			again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%+v, then %+v", first, second)
		}
		if _, err := berth.ParseHostID(string(first.Host.ID)); err != nil {
			t.Errorf("the id that was made: %v", err)
		}
		c.want(200, "POST /hosts/join", joinBody(first.Token), "Authorization: ")
	})
}

func TestAHostsKeyWorksOnItsOwnIDAndOnNothingElse(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		key := as(joined(t, c, "eu-1"))
		joined(t, c, "eu-2")
		f.seedRun(runA, sandboxA)
		c.want(204, "POST /hosts/eu-1/heartbeat", `{`+capacity+`}`, key)
		for _, line := range []string{"POST /hosts/eu-2/heartbeat", "POST /hosts/eu-3/heartbeat", "POST /hosts/EU-1/heartbeat"} {
			c.wantProblem(berth.CodeForbidden, []string{"path.id"}, line, `{`+capacity+`}`, key)
		}
		c.wantProblem(berth.CodeForbidden, []string{"path.id"}, "POST /hosts/eu-2/nudge", `{"sandbox":"`+string(sandboxA)+`","command":"c"}`, key)
		for _, line := range []string{
			"GET /hosts", "GET /hosts/eu-1", "DELETE /hosts/eu-1", "GET /runs", "GET /secrets", "GET /keys", "GET /sandboxes/" + string(sandboxA),
		} {
			c.wantProblem(berth.CodeForbidden, nil, line, "", key)
		}
		c.wantProblem(berth.CodeForbidden, nil, "POST /hosts/eu-1/drain", `{"draining":true}`, key)
		c.wantProblem(berth.CodeForbidden, nil, "POST /hosts", `{}`, key)
		// Nor does a key of people speak for a host, whatever scopes it has.
		_, people := f.issue(berth.Key{Name: "people", Scopes: berth.KeyScopes})
		c.wantProblem(berth.CodeForbidden, []string{"path.id"}, "POST /hosts/eu-1/heartbeat", `{`+capacity+`}`, as(people))
	})
}

func TestANudgeWakesARunOfTheHostAndOfNoOther(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		one, two := as(joined(t, c, "eu-1")), as(joined(t, c, "eu-2"))
		f.seedRun(runA, sandboxA)
		f.change(runA, func(ch *records.Change) error {
			sb, err := ch.Sandbox(t.Context())
			sb.Host, ch.Head.Token = "eu-1", "task-token"
			return err
		})
		nudge := `{"sandbox":"` + string(sandboxA) + `","command":"stage-02-command"}`
		c.wantProblem(berth.CodeForbidden, []string{"sandbox"}, "POST /hosts/eu-2/nudge", nudge, two)
		if len(f.woken.tokens) > 0 {
			t.Errorf("another host woke %q", f.woken.tokens)
		}
		c.want(204, "POST /hosts/eu-1/nudge", nudge, one)
		if len(f.woken.tokens) != 1 || f.woken.tokens[0] != "task-token" {
			t.Errorf("answered %q, want the run's token", f.woken.tokens)
		}
		f.change(runA, func(ch *records.Change) error { ch.Head.Token = ""; return nil })
		c.want(204, "POST /hosts/eu-1/nudge", nudge, one) // nobody waits
		c.wantProblem(berth.CodeNotFound, nil, "POST /hosts/eu-1/nudge", `{"sandbox":"01kjm8e40000000000000zzz00","command":"c"}`, one)
		c.wantProblem(berth.CodeInvalid, []string{"sandbox", "command"}, "POST /hosts/eu-1/nudge", `{"sandbox":"x","command":"../c"}`, one)
	})
}

func TestEveryFaultOfAHostsRequestIsNamedAtOnce(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, _ *fixture, c caller) {
		key := as(joined(t, c, "eu-1"))
		c.wantProblem(berth.CodeInvalid, []string{"id", `labels["berth.x"]`}, "POST /hosts", `{"id":"EU","labels":{"berth.x":"y"}}`)
		c.wantProblem(berth.CodeConflict, []string{"id"}, "POST /hosts", `{"id":"eu-1"}`)
		c.wantProblem(berth.CodeInvalid, []string{"nmae"}, "POST /hosts", `{"nmae":"eu-2"}`)
		c.wantProblem(berth.CodeInvalid,
			[]string{"address", "fingerprint", "bearer", "providers", "cpu", "memory_bytes", "architecture", "version"},
			"POST /hosts/join", `{}`, "Authorization: ")
		c.wantProblem(berth.CodeInvalid, []string{"cpu", "memory_bytes", "architecture", "version"}, "POST /hosts/eu-1/heartbeat", `{}`, key)
		absurd := `{"cpu":65537,"memory_bytes":9223372036854775807,"disk_bytes":9223372036854775807,"architecture":"amd64","version":"1"}`
		c.wantProblem(berth.CodeInvalid, []string{"cpu", "memory_bytes", "disk_bytes"}, "POST /hosts/eu-1/heartbeat", absurd, key)
		c.wantProblem(berth.CodeInvalid, []string{"draining"}, "POST /hosts/eu-1/drain", `{}`)
		c.wantProblem(berth.CodeInvalid, []string{"query.force"}, "DELETE /hosts/eu-1?force=yes", "")
		c.wantProblem(berth.CodeNotFound, []string{"path.id"}, "POST /hosts/eu-9/drain", `{"draining":true}`)
		c.wantProblem(berth.CodeUnauthenticated, []string{"token"}, "POST /hosts/join", joinBody("bthj_"+strings.Repeat("A", 43)), "Authorization: ")
	})
}

func TestAJoinsTokenAndBearerAreNeverShownAgain(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		token := httpapitest.JSON[berth.JoinToken](t, c.want(201, "POST /hosts", `{"id":"eu-1"}`))
		answer := httpapitest.JSON[berth.JoinedHost](t, c.want(200, "POST /hosts/join", joinBody(token.Token), "Authorization: "))
		host, err := json.Marshal(answer.Host)
		must(t, err)
		shown := string(host)
		for _, line := range []string{"GET /hosts", "GET /hosts/eu-1", "GET /keys"} {
			shown += string(c.want(200, line, "").Body)
		}
		shown += f.log.String()
		for _, secret := range []string{token.Token, strings.Repeat("b", 43), answer.Key} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s… shows", secret[:8])
			}
		}
	})
}
