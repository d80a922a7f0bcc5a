package listen_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-dev/berth/shared/listen"
)

// pipes is a listener in memory, whose deadlines go by the time of a bubble.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.over); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// answerTo sends what comes from request to h, and returns all that is answered until
// the connection is closed, and how long that took.
func answerTo(t *testing.T, h http.HandlerFunc, request func(io.Writer)) (answer string, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := pipes{make(chan net.Conn), make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- listen.Serve(ctx, l, h, log.New(io.Discard, "", 0)) }()
		client, server := net.Pipe()
		l.conns <- server
		began := time.Now()
		go request(client)
		_ = client.SetReadDeadline(began.Add(time.Hour))
		all, err := io.ReadAll(client)
		if err != nil {
			t.Errorf("the connection stays: %q, %v", all, err)
		}
		answer, took = string(all), time.Since(began)
		client.Close()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return answer, took
}

func TestABodyThatDoesNotComeHoldsNoConnection(t *testing.T) {
	t.Parallel()
	refuse := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, http.StatusUnauthorized) }
	}
	const sized, chunked = "Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		rest    string
		within  time.Duration
	}{
		"of a request that is refused":           {refuse("no"), sized + "begun", 3 * time.Second},
		"without an ending":                      {refuse("no"), chunked + "5\r\nbegun\r\n", 3 * time.Second},
		"of one that is refused with many words": {refuse(strings.Repeat("no ", 5000)), sized, time.Minute},
		"of one that is refused halfway": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 3)
			refuse("no")(w, r)
		}, sized + "begun", 3 * time.Second},
		"that the handler reads for ever": {func(w http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); refuse("no")(w, r) }, sized + "begun", time.Minute},
		"of one that gave its body time, and left": {func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			refuse("no")(w, r)
		}, sized, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, took := answerTo(t, tt.handler, func(w io.Writer) { _, _ = io.WriteString(w, "POST / HTTP/1.1\r\nHost: a\r\n"+tt.rest) })
			if !strings.HasPrefix(answer, "HTTP/1.1 401 ") || took > tt.within {
				t.Errorf("after %s: %.60q, want a refusal within %s", took, answer, tt.within)
			}
		})
	}
}

func TestABodyMayTakeTheTimeThatItsHandlerGivesIt(t *testing.T) {
	t.Parallel()
	h := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		body, err := io.ReadAll(r.Body)
		w.Header().Set("Connection", "close")
		_, _ = w.Write(body)
		if err != nil {
			_, _ = io.WriteString(w, err.Error())
		}
	}
	answer, took := answerTo(t, h, func(w io.Writer) {
		_, _ = io.WriteString(w, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
		for range 10 {
			time.Sleep(time.Minute)
			_, _ = io.WriteString(w, "x")
		}
	})
	if !strings.HasSuffix(answer, "\r\n\r\nxxxxxxxxxx") || took < 10*time.Minute {
		t.Errorf("after %s: %q", took, answer)
	}
}

// A request that was answered leaves no deadline behind for the next one.
func TestARequestIsFollowedByOthersOnItsConnection(t *testing.T) {
	t.Parallel()
	h := func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		select {
		case <-r.Context().Done():
			_, _ = io.WriteString(w, "cut")
		case <-time.After(time.Minute):
			_, _ = io.WriteString(w, "whole")
		}
	}
	answer, _ := answerTo(t, h, func(w io.Writer) {
		_, _ = io.WriteString(w, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
		time.Sleep(2 * time.Minute)
		_, _ = io.WriteString(w, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc")
	})
	if strings.Count(answer, "whole") != 2 || strings.Contains(answer, "cut") {
		t.Errorf("answered %q", answer)
	}
}
