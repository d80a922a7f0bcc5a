//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/sandbox/remote"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/tunnel"
)

// person is at a shell, straight at the agent as clients are.
type person struct {
	t      *testing.T
	stream io.ReadWriteCloser
	out    *channel.Writer

	mu    sync.Mutex // guards all below
	shown bytes.Buffer
	exit  *berth.Exit
	err   error // how the stream ended
}

func shellAt(t *testing.T, r *remote.Provider, ref berth.SandboxRef) *person {
	t.Helper()
	ticket, err := r.IssueTicket(t.Context(), ref, berth.StreamSpec{Kind: berth.StreamShell, Terminal: "xterm", Env: map[string]string{"HOME": "/nonexistent"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := tunnel.Dial(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stream.Close() })
	p := &person{t: t, stream: stream, out: channel.NewWriter(stream)}
	go p.watch()
	return p
}

func (p *person) watch() {
	for in := channel.NewReader(p.stream); ; {
		f, err := in.Next()
		p.mu.Lock()
		switch exit, ok := f.Exit(); {
		case err != nil:
			p.err = err
		case ok:
			p.exit = &exit
		case f.Kind == channel.Data:
			p.shown.Write(f.Payload)
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *person) types(text string) {
	p.t.Helper()
	if _, err := p.out.Write([]byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) sees(text string) {
	p.t.Helper()
	until(p.t, fmt.Sprintf("the terminal shows %q", text), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return bytes.Contains(p.shown.Bytes(), []byte(text))
	})
}

func (p *person) ends() (*berth.Exit, error) {
	p.t.Helper()
	until(p.t, "the stream ends", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err != nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, p.err
}

// marker is an argument of sleep that only one test has.
func marker() string { return fmt.Sprintf("7%d.%d", mathrand.N(1_000_000), mathrand.N(1_000_000)) }

func TestShellsAndPortsAtAnAgentBearWhatPeopleAndNetworksDo(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts an agent and guests")
	}
	t.Parallel()
	agent := startProcess(t, berth.ProviderLocal)
	r := agent.connect(t)
	ref := ready(t, r)

	t.Run("a storm of sizes leaves the last one", func(t *testing.T) {
		p := shellAt(t, r, ref)
		p.types("trap 'n=$((n+1))' WINCH; echo up-$((1+1))\n")
		p.sees("up-2")
		for i := range 20_000 {
			if err := p.out.Resize(berth.Window{Columns: uint16(20 + i%200), Rows: uint16(1 + i%60)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, odd := range []berth.Window{{}, {Columns: 65535, Rows: 65535}, {Columns: 0, Rows: 9}, {Columns: 81, Rows: 31}} {
			if err := p.out.Resize(odd); err != nil {
				t.Fatal(err)
			}
		}
		p.types("stty size\n")
		p.sees("31 81")
		p.types("exit 3\n")
		if exit, _ := p.ends(); exit == nil || exit.Code != 3 {
			t.Errorf("the exit is %+v", exit)
		}
	})
	t.Run("a huge paste arrives whole", func(t *testing.T) {
		p := shellAt(t, r, ref)
		paste := bytes.Repeat([]byte("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"), 64<<10) // 4 MiB
		sum := sha256.Sum256(paste)
		p.types(fmt.Sprintf("stty -echo; echo re'ady'; head -c %d | sha256sum\n", len(paste)))
		p.sees("ready")
		p.types(string(paste))
		p.sees(hex.EncodeToString(sum[:]))
		p.types("exit\n")
		p.ends()
	})
	t.Run("binary output arrives as it is", func(t *testing.T) {
		state, err := r.Describe(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 3<<20)
		_, _ = rand.Read(data)
		path := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err, state)
		}
		p := shellAt(t, r, ref)
		p.types("stty raw -echo; printf '%s' 'BEG''IN'; cat " + path + "; printf '%s' 'E''ND'; exit\n")
		if exit, err := p.ends(); exit == nil {
			t.Fatalf("it ended with %v", err)
		}
		_, rest, _ := bytes.Cut(p.shown.Bytes(), []byte("BEGIN"))
		if len(rest) < len(data) || !bytes.Equal(rest[:len(data)], data) {
			t.Errorf("%d bytes came, of %d", len(rest), len(data))
		}
	})
	t.Run("the keys for an interrupt and for the end do what they do", func(t *testing.T) {
		p := shellAt(t, r, ref)
		p.types("echo up-$((1+1)); cat; (exit 5)\n")
		p.sees("up-2")
		p.types("heard\n\x04")
		p.sees("heard\r\nheard\r\n")
		p.types("echo back-$((1+1))\n")
		p.sees("back-2")
		p.types("(exit 9)\n\x04")
		if exit, err := p.ends(); exit == nil || exit.Code != 9 {
			t.Errorf("the exit is %+v, %v", exit, err)
		}
	})
	for how, end := range map[string]func(p *person){
		"a connection that is closed":                    func(p *person) { p.stream.Close() },
		"a connection that is dropped in a paste":        func(p *person) { p.drops() },
		"the end of what is typed, without the shell's ": func(p *person) { _ = p.out.End(); p.stream.Close() },
	} {
		t.Run(how+" leaves nothing", func(t *testing.T) {
			t.Parallel()
			p, m := shellAt(t, r, ref), marker()
			p.types("set +m; (setsid sleep " + m + " &); nohup sleep " + m + " >/dev/null 2>&1 & trap '' HUP TERM INT QUIT; sleep " + m + "\n")
			until(t, "the processes are there", func() bool { return len(sandboxtest.Processes("sleep\x00"+m)) >= 3 })
			end(p)
			until(t, "none is left", func() bool { return len(sandboxtest.Processes("sleep\x00"+m)) == 0 })
		})
	}
	t.Run("a sandbox that stops takes its shells and connections along", func(t *testing.T) {
		t.Parallel()
		ref := ready(t, r)
		p, m := shellAt(t, r, ref), marker()
		p.types("trap '' HUP TERM; (setsid sleep " + m + " &); sleep " + m + "\n")
		until(t, "the processes are there", func() bool { return len(sandboxtest.Processes("sleep\x00"+m)) >= 2 })
		l := listenHere(t)
		stream := portAt(t, r, ref, l)
		held, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if err := r.Stop(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		p.ends()
		if n, err := stream.Read(make([]byte, 1)); err == nil {
			t.Errorf("the connection goes on with %d bytes", n)
		}
		if left := sandboxtest.Processes("sleep\x00" + m); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
		_, err = r.IssueTicket(t.Context(), ref, berth.StreamSpec{Kind: berth.StreamShell}, 0)
		if berth.CodeOf(err) != berth.CodeConflict {
			t.Errorf("a ticket for a stopped sandbox: %v", err)
		}
	})
	t.Run("a ticket outlives no sandbox and opens no other", func(t *testing.T) {
		t.Parallel()
		ref := ready(t, r)
		ticket, err := r.IssueTicket(t.Context(), ref, berth.StreamSpec{Kind: berth.StreamShell}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Destroy(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		stream, err := tunnel.Dial(t.Context(), ticket)
		if err == nil {
			stream.Close()
		}
		if code := berth.CodeOf(err); code != berth.CodeNotFound && code != berth.CodeConflict {
			t.Errorf("a ticket for what is gone: %v", err)
		}
	})
	t.Run("a port that takes no connection is told and not waited for", func(t *testing.T) {
		t.Parallel()
		free := listenHere(t)
		free.Close()
		ticket := portTicket(t, r, ref, free)
		_, err := tunnel.Dial(t.Context(), ticket)
		var e *berth.Error
		if !errors.As(err, &e) || e.Code != berth.CodeUnavailable || e.Field != "port" || !strings.Contains(e.Message, "nothing listens") {
			t.Errorf("a port where nobody listens: %v", err)
		}
	})
	t.Run("many connections are bounded, and room comes back", func(t *testing.T) { // before those that need room beside it
		l := listenHere(t)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					_, _ = io.Copy(conn, conn)
				}()
			}
		}()
		ticket := portTicket(t, r, ref, l)
		var mu sync.Mutex // guards open and refused
		var open []io.Closer
		refused := 0
		var work sync.WaitGroup
		for range 8 {
			work.Go(func() {
				for range 80 {
					stream, err := tunnel.Dial(t.Context(), ticket)
					mu.Lock()
					switch {
					case err == nil:
						open = append(open, stream)
					case berth.CodeOf(err) == berth.CodeRateLimited:
						refused++
					default:
						t.Errorf("Dial: %v", err)
					}
					mu.Unlock()
				}
			})
		}
		work.Wait()
		if len(open) > 512 || len(open) < 500 || refused == 0 { // those of before may not be over yet
			t.Errorf("%d connections are open and %d were refused", len(open), refused)
		}
		for _, c := range open {
			work.Go(func() { c.Close() })
		}
		work.Wait()
		until(t, "another connection is taken", func() bool {
			stream, err := tunnel.Dial(t.Context(), ticket)
			if err != nil {
				return false
			}
			stream.Close()
			return true
		})
	})
}

// drops leaves in the middle of more than anybody reads, as a network does that fails.
func (p *person) drops() {
	go func() { _, _ = p.out.Write(make([]byte, 16<<20)) }()
	time.Sleep(500 * time.Millisecond) // it is stuck by now, or soon will be
	p.stream.Close()
}

func listenHere(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// portTicket is for a port of a local sandbox, which is the machine's own.
func portTicket(t *testing.T, r *remote.Provider, ref berth.SandboxRef, l net.Listener) berth.Ticket {
	t.Helper()
	ticket, err := r.IssueTicket(t.Context(), ref, berth.StreamSpec{Kind: berth.StreamPort, Port: l.Addr().(*net.TCPAddr).Port}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func portAt(t *testing.T, r *remote.Provider, ref berth.SandboxRef, l net.Listener) *channel.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := tunnel.Dial(ctx, portTicket(t, r, ref, l))
	if err != nil {
		t.Fatal(err)
	}
	conn := channel.NewConn(stream)
	t.Cleanup(func() { conn.Close() })
	return conn
}
