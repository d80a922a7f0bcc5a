package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
	"github.com/berth-dev/berth/shared/records"
)

const command = berth.StageID("02-command")

func TestEventsAreReadInPiecesWithTheirSmallOutput(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		small := frames("stdout:a", "stdout:b", "stderr:c")
		to := f.appendOutput(runA, command, 0, small)
		f.appendOutput(runA, command, to, frames("stdout:"+strings.Repeat("x", 5000)))
		path := "/runs/" + string(runA) + "/events"

		first := httpapitest.JSON[berth.EventsReply](t, c.want(200, "GET "+path+"?limit=1", ""))
		if len(first.Items) != 1 || first.NextAfter != 1 || first.EOF {
			t.Errorf("the first piece %+v", first)
		}
		rest := httpapitest.JSON[berth.EventsReply](t, c.want(200, "GET "+path+"?after=1", ""))
		if len(rest.Items) != 2 || rest.EOF || rest.NextAfter != 3 {
			t.Fatalf("the rest %+v", rest)
		}
		want := &berth.OutputPiece{From: 0, To: int64(len(small)), Frames: []berth.Frame{{Stream: berth.Stdout, Data: []byte("ab")}, {Stream: berth.Stderr, Data: []byte("c")}}}
		if diff := cmp.Diff(want, rest.Items[0].Output); diff != "" {
			t.Errorf("inline output (-want +got):\n%s", diff)
		}
		if big := rest.Items[1].Output; big.From != int64(len(small)) || big.Frames != nil {
			t.Errorf("large output in its event: %+v", big)
		}
		f.endRun(runA)
		end := httpapitest.JSON[berth.EventsReply](t, c.want(200, "GET "+path+"?after=3&wait=20s", ""))
		if len(end.Items) != 1 || !end.EOF {
			t.Errorf("the end %+v", end)
		}
		after := httpapitest.JSON[berth.EventsReply](t, c.want(200, "GET "+path+"?after=4&wait=20", ""))
		if len(after.Items) != 0 || !after.EOF || after.NextAfter != 4 {
			t.Errorf("after the end %+v", after)
		}
		c.wantProblem(berth.CodeInvalid, []string{"query.after", "query.limit", "query.wait"}, "GET "+path+"?after=-1&limit=0&wait=21s", "")
	})
}

func TestALongPollAnswersAsSoonAsSomethingHappens(t *testing.T) {
	both(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		go func() {
			time.Sleep(50 * time.Millisecond)
			f.change(runA, func(ch *records.Change) error {
				ch.Event(berth.Event{Kind: berth.EventNotice, Message: "now"})
				return nil
			})
		}()
		started := time.Now()
		reply := httpapitest.JSON[berth.EventsReply](t, c.want(200, "GET /runs/"+string(runA)+"/events?after=1&wait=20s", ""))
		if len(reply.Items) != 1 || reply.Items[0].Message != "now" || time.Since(started) > 15*time.Second {
			t.Errorf("after %s: %+v", time.Since(started), reply)
		}
		quiet := httpapitest.JSON[berth.EventsReply](t, c.want(200, "GET /runs/"+string(runA)+"/events?after=2&wait=50ms", ""))
		if len(quiet.Items) != 0 || quiet.EOF || quiet.NextAfter != 2 {
			t.Errorf("a poll of nothing: %+v", quiet)
		}
	})
}

func TestALongPollMissesNoEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	const events = 200
	go func() {
		for i := range events {
			f.change(runA, func(ch *records.Change) error {
				ch.Event(berth.Event{Kind: berth.EventNotice, Message: fmt.Sprint(i)})
				return nil
			})
		}
		f.endRun(runA)
	}()
	next := int64(1)
	for after := int64(0); ; {
		reply := httpapitest.JSON[berth.EventsReply](t, c.want(200, fmt.Sprintf("GET /runs/%s/events?after=%d&wait=20s&limit=7", runA, after), ""))
		for _, e := range reply.Items {
			if e.Seq != next {
				t.Fatalf("event %d came, want %d", e.Seq, next)
			}
			next++
		}
		if after = reply.NextAfter; reply.EOF {
			break
		}
		if len(reply.Items) == 0 {
			t.Fatal("a poll of 20 s ended with nothing")
		}
	}
	if next != events+3 {
		t.Errorf("%d events came, want %d", next-1, events+2)
	}
}

func TestClosingTheServerEndsLongPolls(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := serve(t, f)
	f.seedRun(runA, sandboxA)
	time.AfterFunc(50*time.Millisecond, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = f.api.Close(ctx)
	})
	started := time.Now()
	c.want(200, "GET /runs/"+string(runA)+"/events?after=1&wait=20s", "")
	if d := time.Since(started); d > 15*time.Second {
		t.Errorf("the poll lasted %s", d)
	}
}

func TestAnEventStreamGivesEveryEventAndEndsWithTheRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.seedRun(runA, sandboxA)
	server := httptest.NewServer(f.api)
	defer server.Close()
	open := func(query, lastID string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/api/v1/runs/"+string(runA)+"/events"+query, nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Accept", "text/event-stream")
		if lastID != "" {
			req.Header.Set("Last-Event-ID", lastID)
		}
		resp, err := server.Client().Do(req)
		must(t, err)
		return resp
	}
	resp := open("", "")
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q", got)
	}
	lines := bufio.NewScanner(resp.Body)
	var got []string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if name == "id" || name == "event" {
			got = append(got, value)
		}
		if name == "event" && len(got) == 2 { // the first has come before the second happened
			f.change(runA, func(ch *records.Change) error {
				ch.Event(berth.Event{Kind: berth.EventNotice, Message: "line one\nline two"})
				return nil
			})
			f.endRun(runA)
		}
	}
	if diff := cmp.Diff([]string{"1", "run.status", "2", "notice", "3", "run.status"}, got); diff != "" {
		t.Errorf("the stream (-want +got):\n%s", diff)
	}
	late := open("", "2")
	defer late.Body.Close()
	if body := string(readAll(t, late.Body)); strings.Count(body, "id: ") != 1 || !strings.Contains(body, "id: 3\n") {
		t.Errorf("from Last-Event-ID 2 came\n%s", body)
	}
	bad := open("?after=x", "")
	defer bad.Body.Close()
	wantProblem(t, httpapitest.Response{Status: bad.StatusCode, Header: bad.Header, Body: readAll(t, bad.Body)}, berth.CodeInvalid, []string{"query.after"}, "a bad stream")
}

func TestWithoutTheEmbeddedServerEventsAreNotStreamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *httpapi.Config) { cfg.Embedded = false })
	f.seedRun(runA, sandboxA)
	resp := serve(t, f).want(200, "GET /runs/"+string(runA)+"/events", "", "Accept: text/event-stream")
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
}

func TestAHeadOfAStreamEndsWithItsHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.seedRun(runA, sandboxA)
	server := httptest.NewServer(f.api)
	t.Cleanup(server.Close)
	t.Cleanup(func() { f.endRun(runA) }) // a stream that goes on would hold the server
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 1}}
	for _, line := range []string{"HEAD /runs/" + string(runA) + "/events", "GET /health"} {
		method, path, _ := strings.Cut(line, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/api/v1"+path, nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Accept", "text/event-stream")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", line, resp.StatusCode)
		}
	}
}
