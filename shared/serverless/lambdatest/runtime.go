package lambdatest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// runtimeAPI is Lambda's side of a function: it hands out one event at a time.
type runtimeAPI struct {
	server *httptest.Server
	events chan event
	calls  atomic.Int64
	open   chan event // the one that is being worked on
}

type event struct {
	id    string
	body  []byte
	reply chan reply
}

type reply struct {
	body   []byte
	failed bool
}

// version is that of the Runtime API.
const version = "/2018-06-01/runtime"

// errorTrailer ends an answer that turned into an error after it had begun.
const errorTrailer = "Lambda-Runtime-Function-Error-Type"

func newRuntimeAPI() *runtimeAPI {
	a := &runtimeAPI{events: make(chan event), open: make(chan event, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+version+"/invocation/next", a.next)
	mux.HandleFunc("POST "+version+"/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) { a.answer(w, r, false) })
	mux.HandleFunc("POST "+version+"/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) { a.answer(w, r, true) })
	a.server = httptest.NewServer(mux)
	return a
}

func (a *runtimeAPI) address() string { return strings.TrimPrefix(a.server.URL, "http://") }

func (a *runtimeAPI) close() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// invoke hands an event to the function and waits for its answer.
func (a *runtimeAPI) invoke(body []byte, ended <-chan struct{}) (reply, error) {
	e := event{id: "request-" + strconv.FormatInt(a.calls.Add(1), 10), body: body, reply: make(chan reply, 1)}
	late := time.After(patience)
	select {
	case a.events <- e:
	case <-ended:
		return reply{}, errEnded
	case <-late:
		return reply{}, errLate
	}
	select {
	case r := <-e.reply:
		return r, nil
	case <-ended:
		return reply{}, errEnded
	case <-late:
		return reply{}, errLate
	}
}

func (a *runtimeAPI) next(w http.ResponseWriter, r *http.Request) {
	select {
	case e := <-a.events:
		a.open <- e
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", e.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(patience).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:test")
		_, _ = w.Write(e.body) // a program that has ended reads nothing
	case <-r.Context().Done():
	}
}

func (a *runtimeAPI) answer(w http.ResponseWriter, r *http.Request, failed bool) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case e := <-a.open:
		if e.id != r.PathValue("id") {
			http.Error(w, fmt.Sprintf("request %s is not the one that is being worked on", r.PathValue("id")), http.StatusBadRequest)
			return
		}
		e.reply <- reply{body: body, failed: failed || r.Trailer.Get(errorTrailer) != ""}
		w.WriteHeader(http.StatusAccepted)
	default:
		http.Error(w, "no request is being worked on", http.StatusBadRequest)
	}
}
