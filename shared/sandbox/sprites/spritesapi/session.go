package spritesapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// The first byte of a binary frame.
const (
	frameStdin byte = iota
	frameStdout
	frameStderr
	frameExit
	frameStdinEnd
)

const (
	pingEvery    = 15 * time.Second
	pongLimit    = 45 * time.Second
	maxFrame     = 16 << 20
	stdinPiece   = 32 << 10
	stderrKept   = 4 << 10
	writeLimit   = time.Minute
	closeLimit   = 5 * time.Second
	dialLimit    = 45 * time.Second // a cold sprite wakes first
	lastingAfter = "max_run_after_disconnect"
)

// Command is what a session runs.
type Command struct {
	Argv []string
	// Stdin keeps standard input open for Write.
	Stdin bool
	// Lasts is how long the command goes on after the connection has gone, and holds
	// the sprite awake.
	Lasts time.Duration
}

// Session is a command under way: a stream of its standard output and input. Its
// Read ends with io.EOF at the command's exit, and with an error when the
// connection goes without one: what became of the command is not known then.
type Session struct {
	client *Client
	sprite string
	conn   *websocket.Conn
	cancel context.CancelFunc
	out    *io.PipeReader
	work   sync.WaitGroup
	once   sync.Once

	mu      sync.Mutex // guards what follows
	id      string
	exited  bool
	code    int
	written []byte // the end of standard error
}

// Open starts a command on a sprite, which wakes up for it. Errors: not_found when
// there is no such sprite; those of Client's other calls.
func (c *Client) Open(ctx context.Context, sprite string, cmd Command) (*Session, error) {
	query := url.Values{
		"cmd": cmd.Argv, "path": {cmd.Argv[0]}, "stdin": {strconv.FormatBool(cmd.Stdin)}, "tty": {"false"},
		lastingAfter: {strconv.Itoa(int(cmd.Lasts.Seconds())) + "s"},
	}
	header := http.Header{}
	if err := c.authorize(ctx, header); err != nil {
		return nil, err
	}
	dialed, stop := context.WithTimeout(ctx, dialLimit)
	defer stop()
	at := c.at(query, "v1", "sprites", sprite, "exec")
	conn, res, err := websocket.Dial(dialed, "ws"+strings.TrimPrefix(at, "http"), &websocket.DialOptions{
		HTTPClient: c.config.HTTP, HTTPHeader: header, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, c.refusal(ctx, res, err)
	}
	conn.SetReadLimit(maxFrame)
	out, in := io.Pipe()
	alive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Session{client: c, sprite: sprite, conn: conn, cancel: cancel, out: out}
	s.work.Go(func() { _ = in.CloseWithError(s.receive(alive, in)) })
	s.work.Go(func() { s.ping(alive) })
	return s, nil
}

// refusal explains a handshake that has failed.
func (c *Client) refusal(ctx context.Context, res *http.Response, err error) error {
	switch {
	case res == nil || res.StatusCode == http.StatusSwitchingProtocols:
		return c.unreachable(err)
	case res.StatusCode < 300:
		return c.page()
	}
	var body []byte
	if res.Body != nil {
		body, _ = io.ReadAll(io.LimitReader(res.Body, maxReply)) // what was not read says nothing
	}
	return c.failure(ctx, res, body)
}

// errNoExit is the end of a connection that has not told how the command ended.
var errNoExit = errors.New("the connection to the sprite ended before its command did")

// receive copies standard output to out until the command's exit.
func (s *Session) receive(ctx context.Context, out io.Writer) error {
	for {
		kind, data, err := s.conn.Read(ctx)
		if err != nil {
			return errors.Join(errNoExit, err)
		}
		if kind == websocket.MessageText {
			if s.note(data) {
				return io.EOF
			}
			continue
		}
		if len(data) == 0 {
			continue
		}
		switch data[0] {
		case frameStdout:
			if _, err := out.Write(data[1:]); err != nil {
				return err // nobody reads any more
			}
		case frameStderr:
			s.keep(data[1:])
		case frameExit:
			if len(data) > 1 {
				s.exit(int(data[1]))
				return io.EOF
			}
		}
	}
}

// note takes a text frame, and reports whether the command has ended.
func (s *Session) note(data []byte) (ended bool) {
	var m struct {
		Type string          `json:"type"`
		ID   json.RawMessage `json:"session_id"`
		Code *int            `json:"exit_code"`
	}
	if json.Unmarshal(data, &m) != nil {
		return false
	}
	switch m.Type {
	case "session_info":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.id = strings.Trim(string(m.ID), `"`) // a number, or a text
	case "exit":
		if m.Code != nil {
			s.exit(*m.Code)
			return true
		}
	}
	return false
}

func (s *Session) exit(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exited, s.code = true, code
}

func (s *Session) keep(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = append(s.written, data...)
	if n := len(s.written) - stderrKept; n > 0 {
		s.written = append(s.written[:0], s.written[n:]...)
	}
}

// Exit is the command's status, once it has ended.
func (s *Session) Exit() (code int, exited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.code, s.exited
}

// Stderr is the end of the command's standard error.
func (s *Session) Stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(string(s.written))
}

// ping finds out that a connection is dead which nobody has closed.
func (s *Session) ping(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, pongLimit)
		err := s.conn.Ping(limited)
		cancel()
		if err != nil {
			_ = s.conn.CloseNow() // ends receive
			return
		}
	}
}

// Read reads standard output.
func (s *Session) Read(p []byte) (int, error) { return s.out.Read(p) }

// Write sends to standard input.
func (s *Session) Write(p []byte) (int, error) {
	for sent := 0; sent < len(p); {
		piece := p[sent:min(len(p), sent+stdinPiece)]
		if err := s.send(websocket.MessageBinary, append([]byte{frameStdin}, piece...)); err != nil {
			return sent, err
		}
		sent += len(piece)
	}
	return len(p), nil
}

func (s *Session) send(kind websocket.MessageType, data []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	return s.conn.Write(ctx, kind, data)
}

// Close lets go of the command; it goes on as long as Command.Lasts says.
func (s *Session) Close() error {
	s.once.Do(func() {
		s.out.Close()
		s.cancel()
		_ = s.conn.CloseNow() // the service may hold a handshake back for seconds
		s.work.Wait()
	})
	return nil
}
