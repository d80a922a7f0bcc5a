//go:build linux

package daytonatest

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Fault is a harm that the server does.
type Fault string

// The faults. Each does harm only where it can.
const (
	None         Fault = ""
	RateLimited  Fault = "429"
	InTransition Fault = "409 in transition"
	EmptyGateway Fault = "empty 502"
	Page         Fault = "HTML 200"
	ResetBefore  Fault = "connection reset before the effect"
	ResetAfter   Fault = "connection reset after the effect"
	StaleRead    Fault = "stale read"
	CutStream    Fault = "cut stream"
	SlowStart    Fault = "slow start"
	BuildFails   Fault = "build failure"
)

// Faults are all of them.
var Faults = []Fault{RateLimited, InTransition, EmptyGateway, Page, ResetBefore, ResetAfter, StaleRead, CutStream, SlowStart, BuildFails}

type faultKey struct{}

func faultOf(ctx context.Context) Fault {
	f, _ := ctx.Value(faultKey{}).(Fault)
	return f
}

// SetFault asks f for the fault of each request; nil does no harm.
func (s *Server) SetFault(f func(*http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Randomly lets each of the faults befall one of every so many requests that can
// meet it, a random one. It is safe for concurrent use.
func Randomly(seed uint64, every int, faults ...Fault) func(*http.Request) Fault {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, seed))
	left := map[Fault][2]int{} // requests of this round, and the one that is met
	return func(r *http.Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		met := None
		for _, i := range source.Perm(len(faults)) {
			f := faults[i]
			if !f.befalls(r) {
				continue
			}
			round := left[f]
			if round[0] == 0 {
				round = [2]int{every, 1 + source.IntN(every)}
			}
			if round[0] == round[1] {
				if met != None { // one at a time: the other meets the next request
					round[1]--
				} else {
					met = f
				}
			}
			if round[0]--; round[0] == 0 && round[1] == 0 {
				round = [2]int{1, 1}
			}
			left[f] = round
		}
		return met
	}
}

// befalls reports whether a request can meet a fault.
func (f Fault) befalls(r *http.Request) bool {
	path := r.URL.Path
	sandbox := strings.HasPrefix(path, "/api/sandbox")
	switch f {
	case InTransition:
		return r.Method == http.MethodDelete && sandbox ||
			r.Method == http.MethodPost && (strings.HasSuffix(path, "/start") || strings.HasSuffix(path, "/stop"))
	case StaleRead:
		return r.Method == http.MethodGet && (sandbox || strings.HasPrefix(path, "/api/snapshots"))
	case CutStream:
		return strings.HasSuffix(path, "/logs")
	case SlowStart:
		return r.Method == http.MethodPost && (path == "/api/sandbox" || strings.HasSuffix(path, "/start"))
	case BuildFails:
		return r.Method == http.MethodPost && path == "/api/snapshots"
	}
	return true
}

// harm does what ends a request before its effect, and reports whether it did.
func (s *Server) harm(w http.ResponseWriter, r *http.Request, f Fault) bool {
	switch f {
	case RateLimited:
		w.Header().Set("Retry-After-authenticated", strconv.FormatFloat(s.config.RetryAfter.Seconds(), 'f', -1, 64))
		s.refuse(w, r, http.StatusTooManyRequests, "Too Many Requests")
	case InTransition:
		s.inProgress(w, r)
	case EmptyGateway:
		w.WriteHeader(http.StatusBadGateway)
	case Page:
		dashboard(w)
	case ResetBefore:
		reset(w)
	case ResetAfter:
		r = r.WithContext(context.WithoutCancel(r.Context()))
		sink := &sink{header: http.Header{}}
		if strings.HasPrefix(r.URL.Path, "/toolbox/") {
			if !strings.HasSuffix(r.URL.Path, "/logs") { // a stream has no effect
				s.serveToolbox(sink, r)
			}
		} else {
			s.serveAPI(sink, r)
		}
		reset(w)
	default:
		return false
	}
	return true
}

func (s *Server) inProgress(w http.ResponseWriter, r *http.Request) {
	status := http.StatusConflict
	if s.config.OldErrors {
		status = http.StatusBadRequest
	}
	s.refuse(w, r, status, "Sandbox state change in progress")
}

// reset drops the connection without an answer.
func reset(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	if conn, _, err := h.Hijack(); err == nil {
		conn.Close()
	}
}

// sink takes an answer that nobody gets.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}
