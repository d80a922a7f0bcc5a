package listen_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/listen"
)

const patience = 30 * time.Second

func TestServeEndsWithItsContextAndSoDoPolls(t *testing.T) {
	t.Parallel()
	l, err := listen.Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	polling := make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(polling)
		select {
		case <-r.Context().Done():
			_, _ = io.WriteString(w, "the server ends")
		case <-time.After(patience):
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- listen.Serve(ctx, l, h, log.New(io.Discard, "", 0)) }()
	answered := make(chan string, 1)
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		answered <- string(body)
	}()
	<-polling
	cancel()
	for range 2 {
		select {
		case got := <-answered:
			if got != "the server ends" {
				t.Errorf("the poll's answer is %q", got)
			}
		case err := <-served:
			if err != nil {
				t.Errorf("Serve = %v", err)
			}
		case <-time.After(patience):
			t.Fatal("it does not end")
		}
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("the address still answers")
	}
}

// A connection whose headers are kept costs what they may be long, before anybody
// has said who they are.
func TestHeadersWithoutAnEndAreRefused(t *testing.T) {
	t.Parallel()
	l, err := listen.Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- listen.Serve(ctx, l, http.NotFoundHandler(), log.New(io.Discard, "", 0)) }()
	for size, want := range map[int]int{32 << 10: http.StatusNotFound, 80 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Long", strings.Repeat("a", size))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes of headers: %s, want %d", size, resp.Status, want)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestAnAddressThatIsTakenIsUnavailable(t *testing.T) {
	t.Parallel()
	l, err := listen.Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, address := range []string{l.Addr().String(), "127.0.0.1:x", "nowhere"} {
		if _, err := listen.Open(address); berth.CodeOf(err) != berth.CodeUnavailable {
			t.Errorf("Open(%s) = %v", address, err)
		}
	}
}

func TestAListenerThatFailsIsReported(t *testing.T) {
	t.Parallel()
	l, err := listen.Open("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var complaints bytes.Buffer
	if err := listen.Serve(t.Context(), l, http.NotFoundHandler(), log.New(&complaints, "", 0)); err == nil {
		t.Error("Serve on a closed listener = nil")
	}
}
