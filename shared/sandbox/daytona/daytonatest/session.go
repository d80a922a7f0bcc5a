//go:build linux

package daytonatest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/guest/proctree"
)

// session is a long-lived shell, to which commands are typed.
type session struct {
	toolbox *toolbox
	id, dir string
	cmd     *exec.Cmd
	in      io.WriteCloser
	ended   chan struct{} // closed when the shell has ended

	mu       sync.Mutex // guards all below
	commands []*command
}

// command is one that was typed to a session's shell.
type command struct {
	id, text string
	dir      string
	in       *os.File
	log      *log
	done     chan struct{} // closed when exit is set

	mu   sync.Mutex // guards exit
	exit *int
}

func (c *command) exitCode() *int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}

func (c *command) json() map[string]any {
	out := map[string]any{"id": c.id, "command": c.text}
	if code := c.exitCode(); code != nil {
		out["exitCode"] = *code
	}
	return out
}

func (t *toolbox) openSession(w http.ResponseWriter, r *http.Request) {
	var in struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.SessionID == "" || in.SessionID == "entrypoint" {
		t.fail(w, r, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid session id")
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sessions[in.SessionID] != nil {
		t.fail(w, r, http.StatusConflict, "CONFLICT", "session already exists")
		return
	}
	n, err := t.newSession(in.SessionID)
	if err != nil {
		t.fail(w, r, http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", err.Error())
		return
	}
	t.sessions[n.id] = n
	w.WriteHeader(http.StatusCreated)
}

func (t *toolbox) newSession(id string) (*session, error) {
	dir := filepath.Join(t.sandbox.server.dir, t.sandbox.id, "sessions", id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/bash")
	cmd.Dir, cmd.Env = t.sandbox.home(), t.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n := &session{toolbox: t, id: id, dir: dir, cmd: cmd, in: in, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(n.ended)
	}()
	return n, nil
}

// session finds the one of a request, and answers when there is none.
func (t *toolbox) session(w http.ResponseWriter, r *http.Request) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.sessions[r.PathValue("id")]
	if n == nil {
		t.fail(w, r, http.StatusNotFound, "NOT_FOUND", "session not found")
	}
	return n
}

func (t *toolbox) describeSession(w http.ResponseWriter, r *http.Request) {
	n := t.session(w, r)
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	commands := []any{}
	for _, c := range n.commands {
		commands = append(commands, c.json())
	}
	t.sandbox.server.answer(w, http.StatusOK, map[string]any{"sessionId": n.id, "commands": commands})
}

const termGrace = 50 * time.Millisecond

func (t *toolbox) deleteSession(w http.ResponseWriter, r *http.Request) {
	n := t.session(w, r)
	if n == nil {
		return
	}
	t.mu.Lock()
	delete(t.sessions, n.id)
	t.mu.Unlock()
	if t.sandbox.server.config.KillTrees {
		shell := n.cmd.Process.Pid
		proctree.End(context.Background(), proctree.Ending{
			Find: func(all []proctree.Process) []proctree.Process { return proctree.Below(all, shell) }, Limit: endLimit,
		})
	}
	_ = syscall.Kill(-n.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-n.ended:
	case <-time.After(termGrace):
	}
	_ = syscall.Kill(-n.cmd.Process.Pid, syscall.SIGKILL)
	<-n.ended
	n.close()
	w.WriteHeader(http.StatusNoContent)
}

// close lets go of a session whose shell has ended, or is about to.
func (n *session) close() {
	_ = n.in.Close()
	<-n.ended
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.commands {
		c.log.close()
		_ = c.in.Close()
	}
	_ = os.RemoveAll(n.dir)
}

func (t *toolbox) sessionExec(w http.ResponseWriter, r *http.Request) {
	n := t.session(w, r)
	if n == nil {
		return
	}
	var in struct {
		Command  string `json:"command"`
		RunAsync bool   `json:"runAsync"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || strings.TrimSpace(in.Command) == "" {
		t.fail(w, r, http.StatusBadRequest, "INVALID_REQUEST_BODY", "command cannot be empty")
		return
	}
	if t.sandbox.server.take(&t.sandbox.server.idle) {
		in.Command = ":"
	}
	if t.sandbox.server.take(&t.sandbox.server.hang) {
		in.Command = "sleep 600.75"
	}
	c, err := n.run(in.Command)
	if err != nil {
		t.fail(w, r, http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", err.Error())
		return
	}
	if in.RunAsync {
		t.sandbox.server.answer(w, http.StatusAccepted, map[string]any{"cmdId": c.id})
		return
	}
	select {
	case <-c.done:
		output, stdout, stderr := c.log.split()
		t.sandbox.server.answer(w, http.StatusOK, map[string]any{"cmdId": c.id, "exitCode": *c.exitCode(), "output": output, "stdout": stdout, "stderr": stderr})
	case <-n.ended: // the command ended its shell: no code ever comes, until somebody deletes the session
		<-r.Context().Done()
	case <-r.Context().Done():
	}
}

// run types a command. The code is written by the shell itself, so that a command
// that ends the shell leaves none.
func (n *session) run(text string) (*command, error) {
	c := &command{id: newUUID(), text: text, done: make(chan struct{})}
	c.dir = filepath.Join(n.dir, c.id)
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return nil, err
	}
	pipes := map[string]*os.File{}
	for _, name := range []string{"in", "out", "err", "exit"} {
		path := filepath.Join(c.dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		pipes[name] = f
	}
	var err error
	if c.log, err = newLog(filepath.Join(c.dir, "log")); err != nil {
		return nil, err
	}
	c.in = pipes["in"]
	n.mu.Lock()
	n.commands = append(n.commands, c)
	n.mu.Unlock()
	var copies sync.WaitGroup
	copies.Go(func() { c.log.copy(pipes["out"], "\x01\x01\x01") })
	copies.Go(func() { c.log.copy(pipes["err"], "\x02\x02\x02") })
	go c.watch(n, pipes, &copies)
	line := "{\n" + text + "\n} <" + c.dir + "/in >" + c.dir + "/out 2>" + c.dir + "/err\necho $? >" + c.dir + "/exit\n"
	_, err = io.WriteString(n.in, line)
	return c, err
}

// drain is how long output is read on after the end.
const drain = 20 * time.Millisecond

// watch waits for the code, and ends the log a little later.
func (c *command) watch(n *session, pipes map[string]*os.File, copies *sync.WaitGroup) {
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(pipes["exit"]).ReadString('\n')
		line <- text
	}()
	code := -1
	select {
	case text := <-line:
		code, _ = strconv.Atoi(strings.TrimSpace(text))
	case <-n.ended:
		_ = pipes["exit"].SetReadDeadline(time.Now().Add(drain))
		if text := <-line; text != "" {
			code, _ = strconv.Atoi(strings.TrimSpace(text))
		}
	}
	for _, name := range []string{"out", "err"} {
		_ = pipes[name].SetReadDeadline(time.Now().Add(drain))
	}
	copies.Wait()
	if code >= 0 {
		c.mu.Lock()
		c.exit = &code
		c.mu.Unlock()
		close(c.done)
	}
	for _, name := range []string{"out", "err", "exit"} {
		pipes[name].Close()
	}
	c.log.close()
}

// command finds the one of a request, and answers when there is none.
func (t *toolbox) command(w http.ResponseWriter, r *http.Request) *command {
	n := t.session(w, r)
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.commands {
		if c.id == r.PathValue("command") {
			return c
		}
	}
	t.fail(w, r, http.StatusNotFound, "NOT_FOUND", "command not found")
	return nil
}

func (t *toolbox) describeCommand(w http.ResponseWriter, r *http.Request) {
	if c := t.command(w, r); c != nil {
		t.sandbox.server.answer(w, http.StatusOK, c.json())
	}
}

func (t *toolbox) commandInput(w http.ResponseWriter, r *http.Request) {
	c := t.command(w, r)
	if c == nil {
		return
	}
	var in struct {
		Data string `json:"data"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		t.fail(w, r, http.StatusBadRequest, "INVALID_REQUEST_BODY", err.Error())
		return
	}
	if c.exitCode() != nil {
		t.fail(w, r, http.StatusGone, "COMMAND_ALREADY_COMPLETED", "command already completed")
		return
	}
	if _, err := io.WriteString(c.in, in.Data); err != nil && !errors.Is(err, os.ErrClosed) {
		t.fail(w, r, http.StatusInternalServerError, "INTERNAL_SERVER_ERROR", err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
