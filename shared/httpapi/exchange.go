package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// exchange is one request and its answer. As the response writer it holds the
// status back until the first byte, so that a reply that turns out too large
// becomes an error, and it answers 204 for a handler that writes nothing.
type exchange struct {
	api       *API
	w         http.ResponseWriter
	r         *http.Request
	body      *incoming // as it came, without a cap; nil when there is none
	id        string
	route     Route
	principal berth.Principal
	started   time.Time
	status    int
	sent      bool
	unread    bool // the body is to be read on behind the answer
	bytes     int64
	problem   *ProblemDocument
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) Header() http.Header { return x.w.Header() }

func (x *exchange) WriteHeader(status int) {
	if !x.sent {
		x.status = status
	}
}

func (x *exchange) Write(b []byte) (int, error) {
	x.send()
	x.bytes += int64(len(b))
	if x.r.Method == http.MethodHead {
		return len(b), nil
	}
	return x.w.Write(b)
}

// send writes the status line and headers, once.
func (x *exchange) send() {
	if x.sent {
		return
	}
	x.sent = true
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.status >= http.StatusBadRequest {
		x.refuse()
	}
	x.w.WriteHeader(x.status)
}

// Flush sends what is there, for event streams.
func (x *exchange) Flush() {
	x.send()
	if f, ok := x.w.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap lets http.ResponseController find the server's own writer.
func (x *exchange) Unwrap() http.ResponseWriter { return x.w }

// taken notes that the connection has had another use and takes no answer.
func (x *exchange) taken(status int) { x.sent, x.status = true, status }

// fail answers with a problem, unless an answer is on its way already.
func (x *exchange) fail(err error) {
	p := problemOf(err, x.id)
	x.problem = p
	if x.sent {
		return
	}
	h := x.Header()
	h.Del("ETag")
	h.Del("Location")
	h.Set("Content-Type", mediaProblem)
	p.headers(h)
	x.status = p.Status
	body := p.encode()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = x.Write(body) // the client has gone
}

// finish ends the exchange on every path: after a panic, and after a handler
// that wrote nothing.
func (x *exchange) finish() {
	if v := recover(); v != nil {
		if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares so too
			panic(v)
		}
		x.fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	}
	if !x.sent {
		if x.status == 0 {
			x.status = http.StatusNoContent
		}
		x.send()
	}
	x.log()
	x.drain()
}

// log writes one line. Bodies, query values and headers are not in it.
func (x *exchange) log() {
	level := slog.LevelInfo
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("request", x.id), slog.String("operation", x.route.ID), slog.String("method", x.r.Method),
		slog.String("path", x.r.URL.Path), slog.Int("status", x.status), slog.Int64("bytes", x.bytes),
		slog.Int64("took_us", x.api.cfg.Clock.Now().Sub(x.started).Microseconds()))
	if id := x.runID(); id != "" {
		attrs = append(attrs, slog.String("run", id))
	}
	if x.principal.Name != "" {
		attrs = append(attrs, slog.String("by", x.principal.Name))
	}
	if x.principal.Key != "" {
		attrs = append(attrs, slog.String("key", string(x.principal.Key)))
	}
	if p := x.problem; p != nil {
		attrs = append(attrs, slog.String("code", string(p.Code)))
		if p.Status >= http.StatusInternalServerError || p.Status == http.StatusTooManyRequests {
			x.api.cfg.Metrics.Error(x.r.Context(), p.Code)
		}
		switch p.Code {
		case berth.CodeInternal:
			level = slog.LevelError
			attrs = append(attrs, slog.String("error", p.cause.Error()))
		case berth.CodeUnavailable, berth.CodeTimedOut:
			level = slog.LevelWarn
			attrs = append(attrs, slog.String("error", p.cause.Error()))
		}
	}
	x.api.log.LogAttrs(x.r.Context(), level, "request", attrs...)
}

// runID is the run that the request is about, or that it made.
func (x *exchange) runID() string {
	if strings.HasPrefix(x.route.Path, "/runs/{id}") {
		return x.r.PathValue("id")
	}
	made, _ := strings.CutPrefix(x.Header().Get("Location"), Prefix+"/runs/")
	if strings.Contains(made, "/") {
		return ""
	}
	return made
}

// replyBuffers are kept for the bodies of JSON answers.
var replyBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const keptBuffer = 64 << 10

// reply writes v as JSON, whole or not at all.
func (x *exchange) reply(v any) error {
	buf := replyBuffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= keptBuffer {
			buf.Reset()
			replyBuffers.Put(buf)
		}
	}()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		x.fail(fmt.Errorf("encoding the answer: %w", err))
		return nil
	}
	if p, ok := v.(*ProblemDocument); ok {
		x.problem = p
		p.headers(x.Header())
	} else if buf.Len() > MaxBody {
		x.fail(berth.Errorf(berth.CodeTooLarge, "the answer takes %d bytes, the limit is %d: ask for less", buf.Len(), MaxBody))
		return nil
	}
	x.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
	_, err := x.Write(buf.Bytes())
	return err
}

// replyJSON is reply for operations that choose among media types.
func (x *exchange) replyJSON(v any) {
	x.Header().Set("Content-Type", mediaJSON)
	_ = x.reply(v) // the client has gone
}
