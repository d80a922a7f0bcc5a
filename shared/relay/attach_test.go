//go:build linux

package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/relay/daemon"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// hub is what an engine does with the standard streams of a process: whoever is
// attached writes to the one, and reads a copy of the other.
type hub struct {
	in  io.Writer
	out io.Reader

	mu   sync.Mutex // guards conns
	tell []net.Conn
}

func (h *hub) run() {
	buf := make([]byte, 8<<10)
	for {
		n, err := h.out.Read(buf)
		h.mu.Lock()
		conns := append([]net.Conn(nil), h.tell...)
		h.mu.Unlock()
		for _, c := range conns {
			_, _ = c.Write(buf[:n])
			if err != nil {
				_ = c.Close() // after all that the process has said
			}
		}
		if err != nil {
			return
		}
	}
}

func (h *hub) attach() io.ReadWriteCloser {
	ours, theirs := net.Pipe()
	h.mu.Lock()
	h.tell = append(h.tell, ours)
	h.mu.Unlock()
	go func() {
		buf := make([]byte, 1000) // packets are cut anywhere
		for {
			n, err := ours.Read(buf)
			if err != nil {
				break
			}
			if _, err := h.in.Write(buf[:n]); err != nil {
				return // the process has ended; its last words may be on their way
			}
		}
		ours.Close()
	}()
	return theirs
}

// server answers pings over a hub.
func server(t *testing.T) *hub {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	h := &hub{in: inWrite, out: outRead}
	go h.run()
	s := daemon.NewServer(nil, nil)
	done := make(chan struct{})
	go func() { s.ServePackets("this", inRead, outWrite); close(done) }()
	t.Cleanup(func() {
		inWrite.Close()
		outRead.Close()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("the server does not end with its input")
		}
	})
	return h
}

func attach(t *testing.T, h *hub) *wire.Stream {
	t.Helper()
	rw, err := relay.Attach(t.Context(), h.attach(), "this")
	if err != nil {
		t.Fatal(err)
	}
	stream := wire.NewStream(rw)
	if m, err := stream.Receive(); err != nil || m.Op != wire.OpHello {
		t.Fatalf("first message %+v, %v", m, err)
	}
	return stream
}

func ping(t *testing.T, s *wire.Stream, id uint64) {
	t.Helper()
	if err := s.Send(wire.Message{Header: wire.Header{ID: id, Op: wire.OpPing, Params: json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)}}); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Receive(); err != nil || m.ID != id || m.Error != nil {
		t.Fatalf("ping %d: %+v, %v", id, m, err)
	}
}

func TestTheSessionThatWasOpenedLastIsTheOne(t *testing.T) {
	t.Parallel()
	h := server(t)
	first := attach(t, h)
	ping(t, first, 1)
	if _, err := h.in.Write([]byte("a packet that was cut off")); err != nil {
		t.Fatal(err)
	}
	second := attach(t, h)
	ping(t, second, 2)
	if m, err := first.Receive(); err == nil {
		t.Errorf("the first session goes on with %+v", m)
	}
	ping(t, second, 3)
	second.Close()
	third := attach(t, h)
	ping(t, third, 4)
}

func TestAnotherStartIsRefused(t *testing.T) {
	t.Parallel()
	h := server(t)
	held := attach(t, h)
	if _, err := relay.Attach(t.Context(), h.attach(), "that"); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("Attach: %v, want conflict", err)
	}
	ping(t, held, 1) // and takes nothing from who is there
}

func TestAttachGivesUpOnWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := relay.Attach(ctx, theirs, "this"); berth.CodeOf(err) != berth.CodeTimedOut {
		t.Errorf("Attach to a stream that takes nothing: %v", err)
	}
	ours.Close()
	ours, theirs = net.Pipe()
	ours.Close()
	if _, err := relay.Attach(t.Context(), theirs, "this"); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Attach to a stream that is cut: %v", err)
	}
}

// TestAGuestThatIsItsOwnAgent runs the program as process 1 of a container would
// be, as far as a process can that is not.
func TestAGuestThatIsItsOwnAgent(t *testing.T) {
	t.Parallel()
	needGuest(t)
	if os.Getuid() != 0 {
		t.Skip("process 1 of a container is root, and this is not")
	}
	root := t.TempDir()
	boot, err := json.Marshal(wire.Boot{Start: "this"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, wire.ContainedBoot), boot, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(sandboxtest.BuildGuest(t), "contain", "-root", root, "-workspace", t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended when all went well
	h := &hub{in: in, out: out}
	go h.run()
	s := relay.New(relay.Config{Dial: func(ctx context.Context, _ berth.SandboxRef, _ bool) (io.ReadWriteCloser, error) {
		return relay.Attach(ctx, h.attach(), "this")
	}})
	defer s.Close()
	ref := berth.SandboxRef{ID: sandboxtest.NewID()}
	if said, err := s.Probe(t.Context(), ref, []string{"/"}); err != nil || len(said.Mounts) != 1 {
		t.Fatalf("Probe = %+v, %v", said, err)
	}
	if err := s.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: "echo out; exit 3"}); err != nil {
		t.Fatal(err)
	}
	exit := berth.Exit{}
	for offset := int64(0); ; {
		got, err := s.ReadOutput(t.Context(), ref, "c", offset, 0, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if offset = got.Next; got.Ended {
			exit = *got.Exit
			break
		}
	}
	if exit.Code != 3 {
		t.Errorf("exit %+v", exit)
	}
	if err := s.Stop(t.Context(), ref); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, wire.ContainedBoot)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what it was told is still there: %v", err)
	}
}
