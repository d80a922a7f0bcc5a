//go:build linux

package docker_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// farSandbox is one on an engine that does not see the tests' folders.
func farSandbox(t *testing.T, config docker.Config, spec berth.SandboxSpec) *box {
	t.Helper()
	b := &box{Provider: open(t, config), t: t, ref: berth.SandboxRef{ID: spec.ID}}
	t.Cleanup(func() {
		if err := b.Destroy(bounded(t), b.ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
		b.Provider.Close()
	})
	if state := provision(t, b.Provider, spec); state.Status != berth.SandboxReady {
		t.Fatalf("provisioning: %+v, reason %+v", state, state.Reason)
	}
	return b
}

func wantCounted(t *testing.T, b *box, id berth.CommandID) {
	t.Helper()
	text, exit := b.wait(id)
	var want strings.Builder
	for i := range longCount {
		fmt.Fprintln(&want, i+1)
	}
	if text != want.String() || exit.Code != 9 {
		t.Errorf("%d bytes, want %d; %+v", len(text), want.Len(), exit)
	}
}

func TestARunOverAttachedStreamsOutlivesAnEngineWithLiveRestore(t *testing.T) {
	t.Parallel()
	dockertest.Image(t, dockertest.Static)
	e := dockertest.StartFarDaemon(t, "--live-restore")
	e.Load(t, dockertest.Static)
	config := farConfig(t, e)
	b := farSandbox(t, config, specOf(dockertest.Static))
	id := startCounting(b)
	e.Stop(t, syscall.SIGTERM)
	time.Sleep(time.Second) // of output that nobody fetches
	b.reopen(config)        // the next server does not need the engine to come back
	e.Start(t)
	wantCounted(t, b, id)
	if got := b.script("echo still"); got != "still\n" {
		t.Errorf("afterwards: %q", got)
	}
}

func TestAFarEngineThatIsStoppedIsNamed(t *testing.T) {
	t.Parallel()
	e := farEngine(t, dockertest.Static)
	config := farConfig(t, e)
	b := farSandbox(t, config, specOf(dockertest.Static))
	id := startCounting(b)
	e.Stop(t, syscall.SIGTERM)
	e.Start(t)
	text, exit := b.wait(id)
	if exit.Reason != berth.ExitLost || !strings.Contains(exit.Message, "Docker engine was stopped or restarted") || !strings.HasPrefix(text, "1\n") {
		t.Errorf("%d bytes, %+v", len(text), exit)
	}
	if state, err := b.Start(bounded(t), b.ref); err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("Start = %+v, %+v, %v", state, state.Reason, err)
	}
	if again, exit := b.wait(id); again != text || exit.Reason != berth.ExitLost || !strings.Contains(exit.Message, "Docker engine") {
		t.Errorf("after a new start: %d bytes, %+v", len(again), exit)
	}
	if got := b.script("echo alive"); got != "alive\n" {
		t.Errorf("afterwards: %q", got)
	}
}

// proxy passes connections on to an engine until it cuts them.
type proxy struct {
	net.Listener
	to string
	// refuses is a word of the first line of connections that it cuts at once.
	refuses string

	mu     sync.Mutex // guards what follows
	conns  []net.Conn
	frozen chan struct{} // while it is set nothing comes through, until it is closed
}

func startProxy(t testing.TB, to, refuses string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: strings.TrimPrefix(to, "tcp://"), refuses: refuses}
	t.Cleanup(func() { l.Close(); p.freeze(false); p.cut() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", p.to)
			if err != nil {
				near.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, near, far)
			p.mu.Unlock()
			go func() { _, _ = io.Copy(thawed{p, near}, far); near.Close() }()
			go func() {
				defer far.Close()
				first := make([]byte, 4096)
				n, err := near.Read(first)
				if err != nil || p.refuses != "" && strings.Contains(string(first[:n]), p.refuses) {
					near.Close()
					return
				}
				if _, err := (thawed{p, far}).Write(first[:n]); err == nil {
					_, _ = io.Copy(thawed{p, far}, near)
				}
			}()
		}
	}()
	return p
}

// freeze lets connections live and nothing through, as a network does that has lost
// its way.
func (p *proxy) freeze(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on && p.frozen == nil:
		p.frozen = make(chan struct{})
	case !on && p.frozen != nil:
		close(p.frozen)
		p.frozen = nil
	}
}

// thawed writes once its proxy is not frozen.
type thawed struct {
	p *proxy
	io.Writer
}

func (w thawed) Write(b []byte) (int, error) {
	w.p.mu.Lock()
	frozen := w.p.frozen
	w.p.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	return w.Writer.Write(b)
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func TestConnectionsToAnEngineThatAreCutLoseNothing(t *testing.T) {
	t.Parallel()
	e := farEngine(t, dockertest.Static)
	p := startProxy(t, e.Host, "")
	config := farConfig(t, e)
	config.Host = "tcp://" + p.Addr().String()
	b := farSandbox(t, config, specOf(dockertest.Static))
	over := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(300 * time.Millisecond):
				p.cut()
			}
		}
	})
	id := startCounting(b)
	large := b.start(berth.CommandSpec{Script: "yes 0123456789 | head -c 22000000"})
	text, exit := b.wait(large)
	if len(text) != 22000000 || strings.Trim(text, "0123456789\n") != "" || exit.Code != 0 {
		t.Errorf("%d bytes, %+v", len(text), exit)
	}
	wantCounted(t, b, id)
	close(over)
	work.Wait()
}

func TestAnEngineThatLetsNobodyAttachIsWorkedAround(t *testing.T) {
	t.Parallel()
	e := farEngine(t, dockertest.Static)
	p := startProxy(t, e.Host, "/attach?")
	config := farConfig(t, e)
	config.Host = "tcp://" + p.Addr().String()
	b := farSandbox(t, config, specOf(dockertest.Static))
	for i := range 5 {
		if got := b.script(fmt.Sprint("echo ", i)); got != fmt.Sprintln(i) {
			t.Errorf("it says %q", got)
		}
	}
	id := startCounting(b)
	p.cut()
	wantCounted(t, b, id)
}

func TestOfTwoServersTheLaterOneIsAnswered(t *testing.T) {
	t.Parallel()
	config := config(t)
	config.Transport = docker.TransportAttached
	b := sandbox(t, config, specOf(dockertest.Static))
	id := startCounting(b)
	// An old server that has not noticed that it is over.
	old := b.Provider
	b.open(config)
	t.Cleanup(func() { old.Close() })
	for i := range 5 {
		if got := b.script(fmt.Sprint("echo ", i)); got != fmt.Sprintln(i) {
			t.Errorf("it says %q", got)
		}
		if _, err := old.DescribeCommand(bounded(t), b.ref, id); err != nil {
			t.Errorf("the old server: %v", err)
		}
	}
	wantCounted(t, b, id)
}
