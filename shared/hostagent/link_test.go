//go:build linux

package hostagent

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// dialGuest connects to the socket as a guest does; the test itself is the peer.
func dialGuest(t *testing.T, dir, start string) *wire.Conn {
	t.Helper()
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	conn, err := wire.Dial(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	hello := wire.Message{Header: wire.Header{Op: wire.OpHello, Params: []byte(`{"version":1,"sandbox_start":"` + start + `"}`)}}
	if err := conn.Send(hello); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Logf("hello: %v", err) // a refused connection may break at once
	}
	return conn
}

func openSandbox(t *testing.T, config SandboxConfig) *Sandbox {
	t.Helper()
	dir := t.TempDir()
	config.SocketDir, config.SpoolDir = filepath.Join(dir, "link"), filepath.Join(dir, "spool")
	s, err := OpenSandbox(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.End)
	return s
}

func TestOnlyTheExpectedProcessIsTheGuest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		pid   int
		start string
		want  berth.Code
	}{
		{"the guest", os.Getpid(), "s1", ""},
		{"another process", os.Getpid() + 1, "s1", berth.CodeTimedOut},
		{"the guest of another start", os.Getpid(), "s0", berth.CodeTimedOut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openSandbox(t, SandboxConfig{})
			if err := s.Listen("s1"); err != nil {
				t.Fatal(err)
			}
			s.Expect(tt.pid)
			conn := dialGuest(t, s.config.SocketDir, tt.start)
			go func() {
				for {
					m, err := conn.Receive()
					if err != nil {
						return
					}
					_ = conn.Send(wire.Message{Header: wire.Header{ID: m.ID, Op: wire.OpReply}})
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), map[bool]time.Duration{true: 300 * time.Millisecond, false: time.Minute}[tt.want != ""])
			defer cancel()
			if err := s.Probe(ctx); berth.CodeOf(err) != tt.want {
				t.Errorf("Probe: %v, want %q", err, tt.want)
			}
		})
	}
}

func TestCallsFailWhenTheConnectionDrops(t *testing.T) {
	t.Parallel()
	s := openSandbox(t, SandboxConfig{})
	if err := s.Listen("s1"); err != nil {
		t.Fatal(err)
	}
	s.Expect(os.Getpid())
	conn := dialGuest(t, s.config.SocketDir, "s1")
	go func() {
		_, _ = conn.Receive()
		conn.Close()
	}()
	if err := s.Probe(t.Context()); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Probe: %v", err)
	}
	// The guest dials again, and the next call finds it.
	again := dialGuest(t, s.config.SocketDir, "s1")
	go func() {
		m, err := again.Receive()
		if err == nil {
			_ = again.Send(wire.Message{Header: wire.Header{ID: m.ID, Op: wire.OpReply}})
		}
	}()
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("Probe after the guest came back: %v", err)
	}
	s.End()
	if err := s.Probe(t.Context()); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Probe after the end: %v", err)
	}
}

func TestAnswersFindTheirRequests(t *testing.T) {
	t.Parallel()
	s := openSandbox(t, SandboxConfig{})
	if err := s.Listen("s1"); err != nil {
		t.Fatal(err)
	}
	s.Expect(os.Getpid())
	conn := dialGuest(t, s.config.SocketDir, "s1")
	const calls = 20
	go func() { // answers in reverse order, with what was asked
		var got []wire.Message
		for range calls {
			m, err := conn.Receive()
			if err != nil {
				return
			}
			got = append(got, m)
		}
		for i := range got {
			m := got[calls-1-i]
			_ = conn.Send(wire.Message{Header: wire.Header{ID: m.ID, Op: wire.OpReply, Params: []byte(`{}`)}, Body: m.Params})
		}
	}()
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			body, err := s.askWith(t.Context(), wire.OpRead, i, nil, nil)
			if err != nil || string(body) != string(mustJSON(t, i)) {
				t.Errorf("call %d: %q, %v", i, body, err)
			}
		})
	}
	all.Wait()
}

func TestASpoolFarPastItsCapIsReported(t *testing.T) {
	t.Parallel()
	reported := make(chan berth.CommandID, 10)
	s := openSandbox(t, SandboxConfig{Oversize: func(id berth.CommandID) { reported <- id }})
	e, release := s.spools.use("c")
	defer release()
	e.cap = 1000
	f, err := s.spools.open("c")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, step := range []struct {
		size int64
		want bool
	}{{1000, false}, {1000 + overhead, false}, {6*1000 + overhead + 1, true}} {
		if err := f.Truncate(step.size); err != nil { // zeros: no guest in its senses writes that
			t.Fatal(err)
		}
		s.looked("c")
		select {
		case <-reported:
			if !step.want {
				t.Errorf("%d bytes are reported", step.size)
			}
		default:
			if step.want {
				t.Errorf("%d bytes are not reported", step.size)
			}
		}
	}
	s.looked("../../etc/passwd") // is no command
}
