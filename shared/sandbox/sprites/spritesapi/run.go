package spritesapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/berth-dev/berth/shared/berth"
)

// maxOutput is what Run takes of a command's output.
const maxOutput = 64 << 10

// Result is what a short command printed and ended with.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Run runs a short command to its end, which ctx bounds; a command that is not
// through by then is killed. Errors: unavailable when the connection ended without
// the command's exit, so that what it did is not known, or when no exit came.
func (c *Client) Run(ctx context.Context, sprite string, argv ...string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Pace.Call)
	defer cancel()
	s, err := c.Open(ctx, sprite, Command{Argv: argv})
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	ended := make(chan struct{})
	var text strings.Builder
	var readErr error
	go func() {
		defer close(ended)
		_, readErr = io.Copy(&text, io.LimitReader(s, maxOutput))
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		s.Kill(context.WithoutCancel(ctx))
		_ = s.Close()
		<-ended
		return Result{}, berth.Errorf(berth.CodeUnavailable, "sprite %s did not say how a command ended", sprite)
	}
	code, exited := s.Exit()
	if !exited {
		return Result{}, &berth.Error{
			Code: berth.CodeUnavailable, Message: "the connection to sprite " + sprite + " ended before its command did", Cause: errors.Join(errNoExit, readErr),
		}
	}
	return Result{Stdout: text.String(), Stderr: s.Stderr(), Code: code}, nil
}

// Kill ends the command: by a signal, and by the service when that is not enough.
func (s *Session) Kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	_ = s.conn.Write(ctx, websocket.MessageText, []byte(`{"type":"signal","signal":"KILL"}`))
	s.mu.Lock()
	id := s.id
	s.mu.Unlock()
	if id == "" {
		return
	}
	query := url.Values{"signal": {"SIGKILL"}, "timeout": {"1s"}}
	_, _ = s.client.send(ctx, request{
		method: http.MethodPost, url: s.client.at(query, "v1", "sprites", s.sprite, "exec", id, "kill"), limit: closeLimit, plain: true,
	}) // that it has ended already is fine
}
