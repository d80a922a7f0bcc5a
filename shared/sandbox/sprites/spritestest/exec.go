//go:build linux

package spritestest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// holdOpen is how long a connection stays open after the exit, in the fault of it.
const holdOpen = 3 * time.Second

// session is one command with its connection.
type session struct {
	id     string
	sprite *Sprite
	conn   *websocket.Conn
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lasts  time.Duration
	fault  ExecFault
	ended  chan struct{} // closed when the command has ended
	cancel context.CancelFunc
}

func (s *Server) exec(w http.ResponseWriter, r *http.Request, sprite *Sprite) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(16 << 20)
	sprite.wake()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := &session{sprite: sprite, conn: conn, ended: make(chan struct{}), cancel: cancel}
	n.lasts, err = time.ParseDuration(r.URL.Query().Get("max_run_after_disconnect"))
	if err != nil {
		n.lasts = 10 * time.Second
	}
	s.mu.Lock()
	s.last++
	n.id = strconv.Itoa(s.last)
	if len(s.execFaults) > 0 {
		n.fault, s.execFaults = s.execFaults[0], s.execFaults[1:]
	}
	s.connections[n] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.connections, n)
	}()
	n.serve(ctx, r)
}

// serve runs the command and speaks for it until the connection or the command ends.
func (n *session) serve(ctx context.Context, r *http.Request) {
	argv, path := r.URL.Query()["cmd"], r.URL.Query().Get("path")
	if len(argv) == 0 {
		_ = n.conn.Close(websocket.StatusPolicyViolation, "no cmd")
		return
	}
	if path == "" {
		path = argv[0]
	}
	n.cmd = &exec.Cmd{
		Path: path, Args: argv, Dir: n.sprite.Home(), SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		Env: append([]string{
			"HOME=" + n.sprite.Home(), "USER=sprite", "LANG=C.UTF-8", "TMPDIR=" + n.sprite.Root + "/tmp",
			"PATH=" + os.Getenv("PATH"), markVariable + "=" + n.sprite.Mark,
		}, r.URL.Query()["env"]...),
	}
	n.text(ctx, map[string]any{"type": "session_info", "session_id": n.id, "tty": false})
	outputs, err := n.start(r.URL.Query().Get("stdin") == "true")
	if err != nil {
		n.binary(ctx, 2, []byte(err.Error()+"\n"))
		n.tell(ctx, 127)
		close(n.ended)
		return
	}
	var copying sync.WaitGroup
	for stream, output := range outputs {
		copying.Go(func() { n.copy(ctx, byte(stream+1), output) })
	}
	go n.listen(ctx)
	err = n.cmd.Wait()
	drained := make(chan struct{})
	go func() { copying.Wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(500 * time.Millisecond): // a child has the pipes too
		for _, output := range outputs {
			output.Close()
		}
		<-drained
	}
	close(n.ended)
	n.tell(ctx, status(err, n.cmd))
}

func (n *session) start(withInput bool) (outputs []*os.File, err error) {
	var ends []*os.File
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		outputs, ends = append(outputs, r), append(ends, w)
	}
	n.cmd.Stdout, n.cmd.Stderr = ends[0], ends[1]
	if withInput {
		if n.stdin, err = n.cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	err = n.sprite.start(n.cmd)
	for _, end := range ends {
		end.Close()
	}
	if err != nil {
		for _, output := range outputs {
			output.Close()
		}
	}
	return outputs, err
}

func status(err error, cmd *exec.Cmd) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
			return 128 + int(w.Signal())
		}
	}
	return cmd.ProcessState.ExitCode()
}

func (n *session) copy(ctx context.Context, stream byte, from *os.File) {
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		read, err := from.Read(buffer)
		if read > 0 {
			n.binary(ctx, stream, buffer[:read])
		}
		if err != nil {
			return
		}
	}
}

// tell sends the exit, twice as the service does, or goes wrong as it is to.
func (n *session) tell(ctx context.Context, code int) {
	switch n.fault {
	case ExecSilent, ExecLosesExit:
		_ = n.conn.Close(websocket.StatusNormalClosure, "")
		return
	case ExecNeverExits:
		<-ctx.Done()
		return
	}
	n.text(ctx, map[string]any{"type": "exit", "exit_code": code})
	n.binary(ctx, 3, []byte{byte(code)})
	if n.fault == ExecHolds {
		select {
		case <-ctx.Done():
		case <-time.After(holdOpen):
		}
	}
	_ = n.conn.Close(websocket.StatusNormalClosure, "")
}

func (n *session) binary(ctx context.Context, kind byte, data []byte) {
	if n.fault != ExecSilent {
		_ = n.conn.Write(ctx, websocket.MessageBinary, append([]byte{kind}, data...))
	}
}

func (n *session) text(ctx context.Context, body map[string]any) {
	if raw, err := json.Marshal(body); err == nil && n.fault != ExecSilent {
		_ = n.conn.Write(ctx, websocket.MessageText, raw)
	}
}

// listen takes what the client sends. When it has gone the command goes on for a
// while.
func (n *session) listen(ctx context.Context) {
	for {
		kind, data, err := n.conn.Read(ctx)
		if err != nil {
			break
		}
		switch {
		case kind == websocket.MessageText:
			var m struct{ Type, Signal string }
			if json.Unmarshal(data, &m) == nil && m.Type == "signal" && m.Signal == "KILL" {
				n.killGroup()
			}
		case len(data) > 0 && data[0] == 0 && n.stdin != nil:
			_, _ = n.stdin.Write(data[1:]) // a command that has ended reads nothing
		case len(data) > 0 && data[0] == 4 && n.stdin != nil:
			_ = n.stdin.Close()
		}
	}
	n.cancel() // nobody listens to its output
	select {
	case <-n.ended:
	case <-time.After(n.lasts):
		n.killGroup()
	}
}

func (n *session) killGroup() {
	if n.cmd.Process != nil {
		_ = syscall.Kill(-n.cmd.Process.Pid, syscall.SIGKILL)
	}
}

func (s *Server) kill(w http.ResponseWriter, r *http.Request, sprite *Sprite) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.connections {
		if n.sprite == sprite && n.id == r.PathValue("id") {
			n.killGroup()
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = fmt.Fprintln(w, `{"type":"signal"}`+"\n"+`{"type":"complete"}`)
			return
		}
	}
	refuse(w, http.StatusNotFound, "not_found", "no such session")
}

// CutSessions ends the connection of every session, as a network does.
func (s *Server) CutSessions() { s.cut(nil) }

// cut ends the connections of a sprite, or of all.
func (s *Server) cut(sprite *Sprite) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.connections {
		if sprite == nil || n.sprite == sprite {
			go n.conn.CloseNow() // it waits for what is being written
		}
	}
}
