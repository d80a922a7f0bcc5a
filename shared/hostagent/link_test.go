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
	"github.com/berth-dev/berth/shared/spool"
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

func TestNoProcessIsTheGuestWhileItsNumberIsNotKnown(t *testing.T) {
	t.Parallel()
	s := openSandbox(t, SandboxConfig{NamesStarts: true})
	if err := s.Listen("s1"); err != nil {
		t.Fatal(err)
	}
	// What an engine says of a container that does not run, and what the kernel
	// says of a peer that it does not show.
	s.Expect(0)
	s.Expect(-1)
	conn := dialGuest(t, s.config.SocketDir, "")
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for {
			m, err := conn.Receive()
			if err != nil {
				return
			}
			_ = conn.Send(wire.Message{Header: wire.Header{ID: m.ID, Op: wire.OpReply}})
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Probe(ctx); berth.CodeOf(err) != berth.CodeTimedOut {
		t.Errorf("Probe while nobody is expected: %v", err)
	}
	// The same connection is the guest's once it is known.
	s.Expect(os.Getpid())
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("Probe: %v", err)
	}
	// And nobody takes that back.
	s.Expect(os.Getpid() + 1)
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("Probe again: %v", err)
	}
	conn.Close()
	<-answered
}

func TestAGuestWithoutANameIsTakenOnlyWhereStartsAreNamedForIt(t *testing.T) {
	t.Parallel()
	s := openSandbox(t, SandboxConfig{})
	if err := s.Listen("s1"); err != nil {
		t.Fatal(err)
	}
	s.Expect(os.Getpid())
	dialGuest(t, s.config.SocketDir, "")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Probe(ctx); berth.CodeOf(err) != berth.CodeTimedOut {
		t.Errorf("Probe: %v", err)
	}
}

func TestASharedSocketIsOpenToOtherUsersAndItsFolderIsNotWritable(t *testing.T) {
	t.Parallel()
	for shared, want := range map[bool][2]os.FileMode{true: {0o755, 0o666}, false: {0o700, 0}} {
		s := openSandbox(t, SandboxConfig{Shared: shared})
		if err := s.Listen("s1"); err != nil {
			t.Fatal(err)
		}
		dir, err := os.Stat(s.config.SocketDir)
		if err != nil || dir.Mode().Perm() != want[0] {
			t.Errorf("shared %v: the folder %v, %v", shared, dir.Mode(), err)
		}
		socket, err := os.Stat(filepath.Join(s.config.SocketDir, wire.SocketName))
		if err != nil || shared && socket.Mode().Perm() != want[1] {
			t.Errorf("shared %v: the socket %v, %v", shared, socket.Mode(), err)
		}
	}
}

func TestHowAStartEndedIsTheExitOfItsCommands(t *testing.T) {
	t.Parallel()
	s := openSandbox(t, SandboxConfig{LostExit: func(start string) *berth.Exit {
		if start == "s1" {
			return &berth.Exit{Code: 137, Reason: berth.ExitOutOfMemory}
		}
		return nil
	}})
	for id, start := range map[berth.CommandID]string{"first": "s1", "second": "s2"} {
		f, err := s.spools.open(id)
		if err != nil {
			t.Fatal(err)
		}
		w, _, err := spool.OpenWriter(f)
		if err == nil {
			err = w.WriteStart(spool.Start{Command: id, SandboxStart: start})
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for id, want := range map[berth.CommandID]berth.ExitReason{"first": berth.ExitOutOfMemory, "second": berth.ExitLost} {
		state, err := s.DescribeCommand(t.Context(), id)
		if err != nil || state.Exit == nil || state.Exit.Reason != want {
			t.Errorf("DescribeCommand(%s) = %+v, %v", id, state.Exit, err)
		}
		for offset := int64(0); ; {
			out, err := s.ReadOutput(t.Context(), id, offset, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if offset = out.Next; out.Ended {
				if out.Exit.Reason != want {
					t.Errorf("ReadOutput(%s) ends %+v", id, out.Exit)
				}
				break
			}
		}
	}
}
