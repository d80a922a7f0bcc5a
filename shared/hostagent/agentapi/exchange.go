package agentapi

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// exchange is one request and its answer.
type exchange struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	id     string
	began  time.Time
	route  route
	owner  *owner
	query  url.Values

	provider berth.Provider // of the path; nil when it names none
	ref      berth.SandboxRef
	command  berth.CommandID

	status int // 0 until there is an answer
	err    error
}

// handler makes a handler of one route for the mux.
func (s *Server) handler(route route) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route, x.r = route, r
		err := x.address()
		if err == nil {
			err = x.checkBody()
		}
		if err == nil {
			err = route.handle(x)
		}
		if err != nil {
			x.fail(err)
		}
	})
}

// answer sends a status without a body, or with v as JSON.
func (x *exchange) answer(v any) error {
	if v == nil {
		x.send(http.StatusNoContent, "", nil)
		return nil
	}
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	x.send(http.StatusOK, MediaJSON, body)
	return nil
}

// writeTime is how long a client may take to fetch an answer.
const writeTime = time.Minute

// send writes the whole answer. A client that is gone is nobody's error.
func (x *exchange) send(status int, media string, body []byte) {
	x.status = status
	control := http.NewResponseController(x.w)
	limited := control.SetWriteDeadline(time.Now().Add(writeTime)) == nil
	if media != "" {
		x.w.Header().Set("Content-Type", media)
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(body)
	}
	if limited {
		_ = control.SetWriteDeadline(time.Time{})
	}
}

// fail answers with a problem.
func (x *exchange) fail(err error) {
	x.err = err
	if x.status != 0 {
		return
	}
	p := problemOf(err, x.id)
	if p.Code == berth.CodeUnauthenticated {
		x.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	body, err := json.Marshal(p)
	if err != nil {
		body = nil // strings and numbers always encode
	}
	x.send(p.Status, MediaProblem, body)
}

// finish ends the exchange on every path, also after a panic.
func (x *exchange) finish() {
	if v := recover(); v != nil {
		if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares so too
			panic(v)
		}
		// What was panicked with may hold anything; only the runtime's words are known not to.
		what := fmt.Sprintf("%T", v)
		if e, ok := v.(runtime.Error); ok {
			what = e.Error()
		}
		x.fail(fmt.Errorf("panic: %s\n%s", what, debug.Stack()))
	}
	x.log()
}

// log writes one line. No query, header or body is in it, nor the text of an
// error that only says what the caller did wrong.
func (x *exchange) log() {
	level := slog.LevelInfo
	if x.route.quiet {
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("request", x.id), slog.String("operation", x.route.method+" "+x.route.pattern), slog.Int("status", x.status),
		slog.Int64("took_us", x.server.config.Clock.Now().Sub(x.began).Microseconds()),
	}
	if x.provider != nil {
		attrs = append(attrs, slog.String("provider", string(x.provider.Kind())))
	}
	if x.ref.ID != "" {
		attrs = append(attrs, slog.String("sandbox", string(x.ref.ID)))
	}
	if x.command != "" {
		attrs = append(attrs, slog.String("command", string(x.command)))
	}
	switch code := berth.CodeOf(x.err); code {
	case "":
	case berth.CodeInternal, berth.CodeUnavailable, berth.CodeTimedOut:
		attrs = append(attrs, slog.String("code", string(code)), slog.String("error", x.err.Error()))
		level = slog.LevelWarn
		if x.r.Context().Err() != nil {
			level = slog.LevelDebug // the caller had given up
		} else if code == berth.CodeInternal {
			level = slog.LevelError
		}
	case berth.CodeUnauthenticated, berth.CodeForbidden:
		attrs = append(attrs, slog.String("code", string(code)), slog.String("peer", x.r.RemoteAddr))
		level = slog.LevelWarn
	default:
		attrs = append(attrs, slog.String("code", string(code)))
	}
	x.server.config.Logger.LogAttrs(x.r.Context(), level, "request", attrs...)
}
