package ssh_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/ssh"
)

// saying is a host, or the way to it, that says err to each line.
type saying struct {
	err   error
	lines *int
}

func (s saying) Run(context.Context, string, io.Reader) ([]byte, error) {
	*s.lines++
	return nil, s.err
}

func (s saying) Open(context.Context, string) (io.ReadWriteCloser, error) { return nil, s.err }
func (saying) Close() error                                               { return nil }

func TestAHostIsReachedWhenItSaysAnything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		code berth.Code
		says string
	}{
		"with success":        {},
		"with another status": {err: &relay.StatusError{Status: 1}},
		"refused": {
			err:  berth.Errorf(berth.CodeUnavailable, "the connection to me@box failed: Connection refused"),
			code: berth.CodeUnavailable, says: "Connection refused",
		},
		"silent":              {err: &berth.Error{Code: berth.CodeTimedOut, Message: "late"}, code: berth.CodeTimedOut, says: "me@box did not answer in time"},
		"with no key of ours": {err: berth.Errorf(berth.CodeForbidden, "no key"), code: berth.CodeForbidden, says: "no key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := 0
			p := ssh.New(ssh.Config{Connect: func(context.Context, string, string) (ssh.Shell, error) { return saying{c.err, &lines}, nil }})
			defer p.Close()
			err := p.Reach(t.Context(), berth.Environment{SSH: &berth.SSHOptions{Destination: "me@box", WorkingDirectory: "w"}})
			if berth.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) || lines != 1 {
				t.Errorf("Reach() = %v after %d tries", err, lines)
			}
			var e *berth.Error
			if away := c.code == berth.CodeUnavailable || c.code == berth.CodeTimedOut; away && (!errors.As(err, &e) || !strings.Contains(e.Remediation, "me@box")) {
				t.Errorf("nothing is said of what to do: %+v", e)
			}
		})
	}
}
