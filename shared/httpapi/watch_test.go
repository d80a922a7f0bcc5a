package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
	"github.com/berth-dev/berth/shared/metric"
)

// samples keeps what was measured.
type samples struct {
	mu  sync.Mutex // guards all
	all []metric.Sample
}

func (s *samples) Write(_ context.Context, m metric.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, m)
}

func TestFaultsOfTheServersOwnAreCountedByTheirCode(t *testing.T) {
	t.Parallel()
	var kept *samples
	var f *fixture
	httpapitest.Both(t, func(t *testing.T) http.Handler {
		kept = &samples{}
		f = newFixture(t, func(c *httpapi.Config) { c.Metrics = metric.New(kept) })
		return f.api
	}, func(t *testing.T, do httpapitest.Do) {
		c := caller{t, do}
		var want []metric.Sample
		for _, code := range []berth.Code{
			berth.CodeInternal, berth.CodeUnavailable, berth.CodeTimedOut, berth.CodeRateLimited, // and those of the sender:
			berth.CodeConflict, berth.CodeNotFound, berth.CodeInvalid,
		} {
			f.plane.createRun = func(context.Context, berth.RunRequest) (berth.RunID, error) {
				return "", berth.Errorf(code, "it is so")
			}
			resp := c.send("POST /runs", `{"command":["true"]}`)
			if resp.Status != code.Info().HTTP {
				t.Fatalf("%s is answered with %d", code, resp.Status)
			}
			if resp.Status >= 500 || resp.Status == 429 {
				want = append(want, metric.Sample{Name: metric.Errors, Unit: metric.Count, Value: 1, By: metric.Code, Of: string(code)})
			}
		}
		c.want(200, "GET /health", "")
		c.want(401, "GET /runs", "", as("nobody"))
		if diff := cmp.Diff(want, kept.all); diff != "" {
			t.Errorf("samples (-want +got):\n%s", diff)
		}
	})
}

func TestTheLogNamesTheRunThatARequestIsAbout(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		made := httpapitest.JSON[berth.Run](t, c.want(201, "POST /runs", `{"command":["true"]}`))
		c.want(200, "GET /runs/"+string(runA)+"/events", "")
		c.want(200, "GET /runs/"+string(runA), "")
		c.want(200, "GET /runs", "")
		got := map[string]any{}
		for line := range strings.Lines(f.log.String()) {
			var l map[string]any
			must(t, json.Unmarshal([]byte(line), &l))
			if l["msg"] != "request" {
				continue
			}
			if id, _ := l["request"].(string); !berth.IsULID(id) {
				t.Errorf("the line has no request id: %s", line)
			}
			got[l["operation"].(string)] = l["run"]
		}
		want := map[string]any{"create-run": string(made.ID), "read-run-events": string(runA), "find-run": string(runA), "list-runs": nil}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("runs by operation (-want +got):\n%s", diff)
		}
	})
}
