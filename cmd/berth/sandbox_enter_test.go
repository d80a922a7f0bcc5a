package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/tunnel"
)

func TestAProvidersURLIsPrintedAlone(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addSandbox("")
	f.previewURL = "https://3000-box.example/?token=x"
	c := newCLI(t, f.URL)
	if got := c.ok("sandbox", "preview", string(fakeSandbox), "3000"); got.stdout != f.previewURL+"\n" {
		t.Errorf("it printed %q", got.stdout)
	}
	mustContain(t, "--json", c.ok("sandbox", "preview", "--json", string(fakeSandbox), "3000").stdout, `"url": "https://3000-box.example/?token=x"`, `"port": 3000`)
	for _, args := range [][]string{{}, {string(fakeSandbox)}, {string(fakeSandbox), "1", "2"}, {string(fakeSandbox), "1", "--listen", "here"}, {string(fakeSandbox), "1", "--ttl", "soon"}} {
		if r := c.run(append([]string{"sandbox", "preview"}, args...)...); r.status != 2 {
			t.Errorf("preview %q: %d, %s", args, r.status, r.stderr)
		}
	}
}

func TestAPersonSaysWhetherABrowserOrAForwardIsWanted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addSandbox("")
	c := newCLI(t, f.URL)
	r := c.run("sandbox", "preview", string(fakeSandbox), "3000", "--browser")
	if r.status != 2 || r.stdout != "" {
		t.Errorf("--browser where there is no URL: %+v", r)
	}
	mustContain(t, "stderr", r.stderr, "the host has no public URL")
	f.previewURL = "https://label.host.example/?berth-ticket=x"
	if got := c.ok("sandbox", "preview", string(fakeSandbox), "3000", "--browser", "--ttl", "30m"); got.stdout != f.previewURL+"\n" {
		t.Errorf("--browser printed %q", got.stdout)
	}
	if r := c.run("sandbox", "preview", string(fakeSandbox), "3000", "--listen", "127.0.0.1:0"); r.status != 1 {
		t.Errorf("--listen on a server that gives no ticket: %+v", r)
	}
	if r := c.run("sandbox", "preview", string(fakeSandbox), "3000", "--browser", "--listen", "127.0.0.1:0"); r.status != 2 {
		t.Errorf("both: %+v", r)
	}
	want := []berth.PreviewRequest{
		{Port: 3000, As: berth.PreviewURL}, {Port: 3000, As: berth.PreviewURL, TTL: "30m"}, {Port: 3000, As: berth.PreviewTicket},
	}
	if diff := cmp.Diff(want, f.previewAsked); diff != "" {
		t.Errorf("what was asked for (-want +got)\n%s", diff)
	}
}

func TestAForwardOutlivesAnAgentThatForgetsItsTickets(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards tickets
	tickets := tunnel.NewTickets(nil)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := tickets
		mu.Unlock()
		if err := now.Serve(w, r); err != nil {
			w.WriteHeader(berth.CodeOf(err).Info().HTTP)
			_ = json.NewEncoder(w).Encode(map[string]any{"code": berth.CodeOf(err), "detail": err.Error()})
		}
	}))
	t.Cleanup(func() {
		tickets.Close()
		agent.Close()
	})
	f := newFake(t)
	f.addSandbox("")
	f.tickets = func() *berth.Ticket {
		mu.Lock()
		defer mu.Unlock()
		ticket, err := tickets.Issue(berth.StreamSpec{Kind: berth.StreamPort, Port: 80}, 0, func(context.Context, berth.StreamSpec) (io.ReadWriteCloser, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				conn := channel.NewConn(far)
				_, _ = io.Copy(conn, conn)
				_ = conn.CloseWrite()
			}()
			return near, nil
		})
		if err != nil {
			t.Error(err)
		}
		ticket.URL = agent.URL
		return &ticket
	}
	c := newCLI(t, f.URL)
	said, stdout := io.Pipe()
	ended := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		ended <- c.app(stdout, &stderr).execute(t.Context(), []string{"sandbox", "preview", string(fakeSandbox), "80"})
		stdout.Close()
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(strings.TrimSpace(line), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(testLimit))
		if _, err := io.WriteString(conn, "there and back"); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); string(got) != "there and back" {
			t.Errorf("%q came back, %v", got, err)
		}
		mu.Lock()
		before := tickets
		tickets = tunnel.NewTickets(nil) // the agent was started again
		mu.Unlock()
		before.Close()
	}
	c.signals <- os.Interrupt
	select {
	case status := <-ended:
		if status != 0 || len(f.previewAsked) != 2 {
			t.Errorf("status %d, %d tickets: %s", status, len(f.previewAsked), &stderr)
		}
	case <-time.After(testLimit):
		t.Error("an interrupt does not end it")
	}
}

func TestAHostThatIsNotReachedFromHereIsTold(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	f := newFake(t)
	f.addSandbox("")
	f.ticket = &berth.Ticket{Value: "v", URL: "https://" + l.Addr().String() + "/v1/stream", Fingerprint: "sha256:00"}
	r := newCLI(t, f.URL).run("sandbox", "preview", string(fakeSandbox), "80")
	if r.status != 6 || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	mustContain(t, "stderr", r.stderr, "is not reachable from here", "berth exec")
}

func TestOnlySandboxesThatCanBeEnteredAreCompleted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.addSandbox("")
	c := newCLI(t, f.URL)
	for _, command := range []string{"ssh", "preview"} {
		mustContain(t, command, c.ok("__complete", "sandbox", command, "").stdout, string(fakeSandbox))
		mustNotContain(t, command+" behind the sandbox", c.ok("__complete", "sandbox", command, string(fakeSandbox), "").stdout, string(fakeSandbox))
	}
	f.mu.Lock()
	f.sandboxes[0].Status = berth.SandboxStopped
	f.mu.Unlock()
	mustNotContain(t, "a stopped one", c.ok("__complete", "sandbox", "ssh", "").stdout, string(fakeSandbox))
}
