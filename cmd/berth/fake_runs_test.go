package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// fakeRun is a run whose history is known beforehand. With hold it ends only
// when it is cancelled.
type fakeRun struct {
	run    berth.Run
	events []berth.Event
	logs   map[berth.StageID][]berth.Frame
	hold   bool
	done   chan struct{}
}

func (f *fake) routeRuns(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/v1/runs", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.runRequest = berth.RunRequest{}
		f.body(r, &f.runRequest)
		run := f.plan
		run.run.ID = berth.RunID(fmt.Sprintf("01k5m3v9x2qf%014d", len(f.runs)))
		run.run.CreatedAt = fakeNow
		run.run.Environment = berth.Environment{ID: berth.EnvironmentID(f.runRequest.Environment), Provider: berth.ProviderLocal}
		run.run.Command, run.run.Script, run.run.Labels = f.runRequest.Command, f.runRequest.Script, f.runRequest.Labels
		run.done = make(chan struct{})
		f.runs = append(f.runs, &run)
		fresh := run.run
		fresh.Status, fresh.Exit, fresh.Reason, fresh.EndedAt = berth.RunSubmitted, nil, nil, nil
		answer(w, 201, fresh)
	})
	mux.HandleFunc("GET /api/v1/runs", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var items []berth.RunSummary
		for i := len(f.runs) - 1; i >= 0; i-- {
			r := f.runs[i].run
			items = append(items, berth.RunSummary{
				ID: r.ID, Status: r.Status, Environment: r.Environment.ID, Command: strings.Join(r.Command, " "), CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
			})
		}
		answer(w, 200, page(items))
	})
	mux.HandleFunc("POST /api/v1/preflight", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.runRequest = berth.RunRequest{}
		f.body(r, &f.runRequest)
		answer(w, 200, f.preflight)
	})
	one := func(pattern string, handle func(http.ResponseWriter, *http.Request, *fakeRun)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if run := f.findRun(w, r.PathValue("id")); run != nil {
				handle(w, r, run)
			}
		})
	}
	one("GET /api/v1/runs/{id}", func(w http.ResponseWriter, _ *http.Request, run *fakeRun) { answer(w, 200, run.run) })
	one("DELETE /api/v1/runs/{id}", func(w http.ResponseWriter, _ *http.Request, run *fakeRun) {
		if !run.run.Status.Ended() {
			problemf(berth.CodeConflict, "run %s is %s", run.run.ID, run.run.Status).write(w)
			return
		}
		w.WriteHeader(204)
	})
	one("POST /api/v1/runs/{id}/cancel", func(w http.ResponseWriter, _ *http.Request, run *fakeRun) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if run.hold {
			run.hold = false
			run.run.Status = berth.RunCancelled
			close(run.done)
		}
		answer(w, 202, map[string]any{})
	})
	one("GET /api/v1/runs/{id}/events", f.answerEvents)
	one("GET /api/v1/runs/{id}/logs", f.answerLogs)
}

func (f *fake) findRun(w http.ResponseWriter, prefix string) *fakeRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found *fakeRun
	for _, run := range f.runs {
		if !strings.HasPrefix(string(run.run.ID), prefix) {
			continue
		}
		if found != nil {
			problemf(berth.CodeConflict, "several runs begin with %s", prefix).write(w)
			return nil
		}
		found = run
	}
	if found == nil {
		problemf(berth.CodeNotFound, "run %s does not exist", prefix).write(w)
	}
	return found
}

// answerEvents gives one event an answer, so that the client has to go on.
func (f *fake) answerEvents(w http.ResponseWriter, r *http.Request, run *fakeRun) {
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	f.mu.Lock()
	hold, events := run.hold, run.events
	f.mu.Unlock()
	if after < int64(len(events)) {
		e := events[after]
		e.Run, e.Seq = run.run.ID, after+1
		answer(w, 200, berth.EventsReply{Items: []berth.Event{e}, NextAfter: e.Seq, EOF: !hold && e.Seq == int64(len(events))})
		return
	}
	if hold {
		select {
		case <-run.done:
		case <-r.Context().Done():
			return
		case <-time.After(testLimit):
		}
	}
	answer(w, 200, berth.EventsReply{Items: []berth.Event{}, NextAfter: after, EOF: true})
}

// answerLogs treats a frame as the unit of offsets and gives one an answer.
func (f *fake) answerLogs(w http.ResponseWriter, r *http.Request, run *fakeRun) {
	stage := berth.StageID(r.URL.Query().Get("stage"))
	if stage == "" {
		stage = "command"
	}
	frames, ok := run.logs[stage]
	if !ok {
		problemf(berth.CodeNotFound, "stage %s does not exist", stage).write(w)
		return
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	reply := berth.OutputReply{Stage: stage, Frames: []berth.Frame{}, NextOffset: int64(offset), EOF: true}
	if offset < len(frames) {
		reply.Frames, reply.NextOffset = frames[offset:offset+1], int64(offset)+1
		reply.EOF = offset+1 == len(frames)
	}
	answer(w, 200, reply)
}
