package daytonaapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Session is a fresh shell in a sandbox for one command: the toolbox has no other
// way to cancel one.
type Session struct {
	toolbox *Toolbox
	id      string
	command string
}

func sessionPath(id string, below string) string {
	return "/process/session/" + url.PathEscape(id) + below
}

// OpenSession starts a command in a session of its own. The command must hold no
// exit, exec or set -e at its top: they would end the shell that reports its
// exit. Error: conflict for an id that is in use.
func (t *Toolbox) OpenSession(ctx context.Context, id, command string) (*Session, error) {
	open := t.call(http.MethodPost, "/process/session")
	open.again, open.starting = true, false
	open.in = struct {
		SessionID string `json:"sessionId"`
	}{id}
	// The id is random: one that exists is ours, by a try whose answer was lost.
	if err := t.client.exchange(ctx, open, nil); err != nil && !isConflict(err) {
		return nil, err
	}
	s := &Session{toolbox: t, id: id}
	if err := s.run(ctx, command); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		_ = s.Close(ctx) // what matters is why it was not used
		return nil, err
	}
	return s, nil
}

// maxRuns is how often a command is sent that may not have arrived.
const maxRuns = 4

// run starts the command once: whether a try whose answer was lost did so is seen
// in the session.
func (s *Session) run(ctx context.Context, command string) error {
	k := s.toolbox.call(http.MethodPost, sessionPath(s.id, "/exec"))
	k.starting = false
	k.in = struct {
		Command string `json:"command"`
		Async   bool   `json:"runAsync"`
		NoEcho  bool   `json:"suppressInputEcho"`
	}{command, true, true}
	var started struct {
		CommandID string `json:"cmdId"`
	}
	var err error
	for range maxRuns {
		if err = s.toolbox.client.exchange(ctx, k, &started); err == nil {
			s.command = started.CommandID
			return nil
		}
		if berth.CodeOf(err) != berth.CodeUnavailable || ctx.Err() != nil {
			return err
		}
		look := s.toolbox.call(http.MethodGet, sessionPath(s.id, ""))
		look.again, look.starting = true, false
		var found struct {
			Commands []struct {
				ID string `json:"id"`
			} `json:"commands"`
		}
		if lookErr := s.toolbox.client.exchange(ctx, look, &found); lookErr != nil {
			return lookErr
		}
		if len(found.Commands) > 0 {
			s.command = found.Commands[0].ID
			return nil
		}
	}
	return err
}

// closeLimit bounds the end of a session that is no longer wanted.
const closeLimit = 10 * time.Second

func (s *Session) commandPath(below string) string {
	return sessionPath(s.id, "/command/"+url.PathEscape(s.command)+below)
}

// Input sends text to the command's standard input. When again is set, text may
// arrive twice, as it is sent again after an answer that was lost. Error: conflict
// when the command has ended.
func (s *Session) Input(ctx context.Context, text string, again bool) error {
	k := s.toolbox.call(http.MethodPost, s.commandPath("/input"))
	k.again, k.starting = again, false
	k.in = struct {
		Data string `json:"data"`
	}{text}
	return s.toolbox.client.exchange(ctx, k, nil)
}

// ExitCode is nil while the command runs, and for ever when it ended its shell.
func (s *Session) ExitCode(ctx context.Context) (*int, error) {
	k := s.toolbox.call(http.MethodGet, s.commandPath(""))
	k.again = true
	var c struct {
		ExitCode *int `json:"exitCode"`
	}
	err := s.toolbox.client.exchange(ctx, k, &c)
	return c.ExitCode, err
}

// Close ends the session and what runs in it.
func (s *Session) Close(ctx context.Context) error {
	k := s.toolbox.call(http.MethodDelete, sessionPath(s.id, ""))
	k.again, k.starting = true, false
	err := s.toolbox.client.exchange(ctx, k, nil)
	if isNotFound(err) {
		return nil
	}
	return err
}

// Follow reads the command's standard output from its beginning as it comes. The
// stream may be cut at any byte; it then ends with an error, or as if it were
// over.
func (s *Session) Follow(ctx context.Context) (io.ReadCloser, error) {
	k := s.toolbox.call(http.MethodGet, s.commandPath("/logs"))
	k.query = url.Values{"follow": {"true"}}
	k.again, k.starting = true, false
	outer := ctx
	ctx, cancel := context.WithCancel(outer)
	var resp *http.Response
	err := s.toolbox.client.repeat(ctx, k, func(context.Context) error {
		// A toolbox that does not begin to answer must not hold the caller.
		timer := time.AfterFunc(attemptLimit, cancel)
		defer timer.Stop()
		var err error
		resp, err = s.toolbox.client.send(ctx, k)
		if err == nil && isHTML(resp.Header, nil) {
			resp.Body.Close()
			return s.toolbox.client.html(k)
		}
		return err
	})
	if err != nil {
		if errors.Is(err, context.Canceled) && outer.Err() == nil {
			err = s.toolbox.client.unavailable(k, "did not answer in time", nil)
		}
		cancel()
		return nil, err
	}
	return &follower{cancel: cancel, body: resp.Body, in: bufio.NewReaderSize(resp.Body, 64<<10)}, nil
}

// follower drops the marks of the streams and what is not standard output.
type follower struct {
	cancel context.CancelFunc
	body   io.ReadCloser
	once   sync.Once
	in     *bufio.Reader
	marks  marks
}

func (f *follower) Read(p []byte) (int, error) {
	for {
		n, err := f.in.Read(p)
		if n = f.marks.strip(p[:n]); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

func (f *follower) Close() error {
	f.once.Do(func() {
		f.cancel()
		f.body.Close()
	})
	return nil
}
