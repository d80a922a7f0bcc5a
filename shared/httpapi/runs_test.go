package httpapi_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
	"github.com/berth-dev/berth/shared/records"
)

func TestARunIsSubmittedShownListedCancelledAndDeleted(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		made := c.want(201, "POST /runs", `{"command":["echo","a b"],"labels":{"k":"v"}}`)
		run := httpapitest.JSON[berth.Run](t, made)
		if made.Header.Get("Location") != "/api/v1/runs/"+string(run.ID) || run.Status != berth.RunSubmitted || run.CreatedBy != "local" {
			t.Errorf("created %s at %q", made.Body, made.Header.Get("Location"))
		}
		if diff := cmp.Diff([]string{"echo", "a b"}, f.plane.created[0].Command); diff != "" {
			t.Errorf("the argv (-want +got):\n%s", diff)
		}
		shown := c.want(200, "GET /runs/"+string(run.ID), "")
		if string(shown.Body) != string(made.Body) {
			t.Errorf("shown %s after the creation gave %s", shown.Body, made.Body)
		}
		list := httpapitest.JSON[berth.List[berth.RunSummary]](t, c.want(200, "GET /runs", ""))
		if len(list.Items) != 1 || list.Items[0].ID != run.ID || list.Items[0].Command != "echo 'a b'" {
			t.Errorf("list %+v", list)
		}
		stages := httpapitest.JSON[berth.List[berth.Stage]](t, c.want(200, "GET /runs/"+string(run.ID)+"/stages", ""))
		if len(stages.Items) != 1 || stages.Next != nil {
			t.Errorf("stages %+v", stages)
		}
		c.wantProblem(berth.CodeConflict, nil, "DELETE /runs/"+string(run.ID), "")
		cancelled := httpapitest.JSON[berth.Run](t, c.want(202, "POST /runs/"+string(run.ID)+"/cancel", ""))
		if !cancelled.CancelRequested {
			t.Error("the cancelled run does not say so")
		}
		f.endRun(run.ID)
		c.wantProblem(berth.CodeConflict, nil, "POST /runs/"+string(run.ID)+"/cancel", "{}")
		c.want(204, "DELETE /runs/"+string(run.ID), "")
		for _, line := range []string{"GET /runs/%", "DELETE /runs/%", "POST /runs/%/cancel", "GET /runs/%/stages", "GET /runs/%/events", "GET /runs/%/logs"} {
			c.wantProblem(berth.CodeNotFound, nil, strings.Replace(line, "%", string(run.ID), 1), "")
		}
	})
}

func TestARunIsFoundByAUniquePrefix(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		f.seedRun(runB, sandboxB)
		run := httpapitest.JSON[berth.Run](t, c.want(200, "GET /runs/"+string(runA[:24]), ""))
		if run.ID != runA {
			t.Errorf("the prefix of %s gave %s", runA, run.ID)
		}
		run = httpapitest.JSON[berth.Run](t, c.want(200, "GET /runs/"+strings.ToUpper(string(runB)), ""))
		if run.ID != runB {
			t.Errorf("%s in upper case gave %s", runB, run.ID)
		}
		p := c.wantProblem(berth.CodeConflict, []string{"path.id"}, "GET /runs/"+string(runA[:12]), "")
		if !strings.Contains(p.Detail, string(runA)) || !strings.Contains(p.Detail, string(runB)) {
			t.Errorf("the candidates are missing: %s", p.Detail)
		}
		c.wantProblem(berth.CodeNotFound, []string{"path.id"}, "GET /runs/01kjm8e400zz", "")
		sb := httpapitest.JSON[berth.Sandbox](t, c.want(200, "GET /sandboxes/"+string(sandboxB[:24]), ""))
		if sb.ID != sandboxB {
			t.Errorf("the prefix of %s gave %s", sandboxB, sb.ID)
		}
		c.wantProblem(berth.CodeConflict, []string{"path.id"}, "GET /sandboxes/"+string(sandboxA[:12])+"", "")
	})
}

func TestBadRunRequests(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		c.wantProblem(berth.CodeInvalid, []string{"comand", "timeout"}, "POST /runs", `{"comand":["x"],"timeout":5}`)
		c.wantProblem(berth.CodeInvalid, []string{"configs[0].kind", "target.knd"}, "POST /preflight", `{"configs":[{"kind":"x"}],"target":{"knd":"git"}}`)
		c.wantProblem(berth.CodeMalformed, nil, "POST /runs", `{"command":["x"]}}`)
		if len(f.plane.created) != 0 {
			t.Errorf("bad requests created %v", f.plane.created)
		}
		if report := httpapitest.JSON[berth.Preflight](t, c.want(200, "POST /preflight", `{"command":["x"]}`)); !report.OK {
			t.Errorf("preflight %+v", report)
		}
	})
}

func TestAnIdempotencyKeyMakesARequestHappenOnce(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		const body, key = `{"command":["true"]}`, "Idempotency-Key: k-1"
		first := c.want(201, "POST /runs", body, key)
		again := c.want(201, "POST /runs", body, key)
		if string(first.Body) != string(again.Body) || first.Header.Get("Location") != again.Header.Get("Location") {
			t.Errorf("the replay differs: %s and %s", first.Body, again.Body)
		}
		if first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("Idempotent-Replayed %q, then %q", first.Header.Get("Idempotent-Replayed"), again.Header.Get("Idempotent-Replayed"))
		}
		if len(f.plane.created) != 1 {
			t.Errorf("%d runs were created", len(f.plane.created))
		}
		c.wantProblem(berth.CodeInvalid, []string{"header.Idempotency-Key"}, "POST /runs", `{"command":["false"]}`, key)
		for _, bad := range []string{"a b", strings.Repeat("x", 129), "ü"} {
			c.wantProblem(berth.CodeInvalid, []string{"header.Idempotency-Key"}, "POST /runs", body, "Idempotency-Key: "+bad)
		}
		c.want(201, "POST /environments", dockerEnvironment, key) // another operation
		replayed := c.want(201, "POST /environments", dockerEnvironment, key)
		if replayed.Header.Get("ETag") == "" {
			t.Error("a replayed creation lacks the ETag")
		}
		c.wantProblem(berth.CodeConflict, nil, "POST /environments", dockerEnvironment, "Idempotency-Key: k-2")
	})
}

func TestAKeyOfARequestWhoseServerDiedMakesNothingTwice(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		const script, key = `{"script":"date"}`, "Idempotency-Key: k"
		f.seedRun(runA, sandboxA)
		for line, body := range ordered(map[string]string{
			"POST /runs": `{"command":["true"]}`, "POST /environments": dockerEnvironment, "POST /sandboxes/" + string(sandboxA) + "/commands": script,
		}) {
			f.table.dying.Store(true) // the server dies before the end is recorded
			first := c.send(line, body, key)
			f.table.dying.Store(false)
			c.wantProblem(berth.CodeConflict, nil, line, body, key)
			f.clock.advance(2 * time.Minute)
			again := c.send(line, body, key)
			if first.Status >= 300 || again.Status != first.Status || first.Header.Get("Location") != again.Header.Get("Location") {
				t.Errorf("%s: %d at %s, and again %d at %s: %s", line, first.Status, first.Header.Get("Location"), again.Status, again.Header.Get("Location"), again.Body)
			}
		}
	})
}

func TestAKeyOfARequestThatFailedIsFree(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.plane.createRun = func(context.Context, berth.RunRequest) (berth.RunID, error) {
			return "", berth.Errorf(berth.CodeUnavailable, "not now")
		}
		resp := c.send("POST /runs", `{"command":["true"]}`, "Idempotency-Key: k")
		wantProblem(t, resp, berth.CodeUnavailable, nil, "a failing creation")
		if resp.Header.Get("Retry-After") == "" {
			t.Error("503 without Retry-After")
		}
		f.plane.createRun = nil
		c.want(201, "POST /runs", `{"command":["true"]}`, "Idempotency-Key: k")
	})
}

func TestAKeyIsHeldWhileItsRequestIsInProgress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	entered, proceed := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	f.plane.createRun = func(context.Context, berth.RunRequest) (berth.RunID, error) {
		calls.Add(1)
		close(entered)
		<-proceed
		f.seedRun(runA, sandboxA)
		return runA, nil
	}
	done := make(chan httpapitest.Response, 1)
	go func() { done <- c.send("POST /runs", `{"command":["true"]}`, "Idempotency-Key: k") }()
	<-entered
	c.wantProblem(berth.CodeConflict, nil, "POST /runs", `{"command":["true"]}`, "Idempotency-Key: k")
	close(proceed)
	if first := <-done; first.Status != 201 {
		t.Errorf("the first request: %d\n%s", first.Status, first.Body)
	}
	run := httpapitest.JSON[berth.Run](t, c.want(201, "POST /runs", `{"command":["true"]}`, "Idempotency-Key: k"))
	if run.ID != runA || calls.Load() != 1 {
		t.Errorf("the replay gave run %s after %d calls", run.ID, calls.Load())
	}
}

func TestASandboxIsStoppedStartedAndDestroyed(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		path := "/sandboxes/" + string(sandboxA)
		for _, row := range []struct {
			line string
			want berth.SandboxStatus
		}{{"POST " + path + "/stop", berth.SandboxStopped}, {"POST " + path + "/start", berth.SandboxReady}, {"GET " + path, berth.SandboxReady}} {
			if sb := httpapitest.JSON[berth.Sandbox](t, c.want(200, row.line, "")); sb.Status != row.want {
				t.Errorf("%s: status %s, want %s", row.line, sb.Status, row.want)
			}
		}
		list := httpapitest.JSON[berth.List[berth.Sandbox]](t, c.want(200, "GET /sandboxes", ""))
		if len(list.Items) != 1 {
			t.Errorf("list %+v", list)
		}
		c.want(204, "DELETE "+path, "")
		c.wantProblem(berth.CodeNotFound, []string{"path.id"}, "GET "+path, "")
	})
}

// appendOutput records output of the command stage.
func (f *fixture) appendOutput(id berth.RunID, stage berth.StageID, from int64, raw []byte) int64 {
	f.t.Helper()
	done, err := f.store.AppendOutput(context.Background(), id, stage, from, raw, nil)
	must(f.t, err)
	return done.Stage.Offset
}

// endStage ends a stage with an exit.
func (f *fixture) endStage(id berth.RunID, stage berth.StageID, exit berth.Exit) {
	f.t.Helper()
	f.change(id, func(c *records.Change) error {
		st, err := c.Stage(f.t.Context(), stage)
		if err != nil {
			return err
		}
		st.Status, st.Exit = berth.StageSucceeded, &exit
		c.Event(berth.Event{Kind: berth.EventStageEnded, Stage: stage, Exit: &exit})
		return nil
	})
}
