package exe_test

import (
	"context"
	"io"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/exe"
)

// saying is a lobby, or the way to it, that says err to each line.
type saying struct{ err error }

func (s saying) Run(context.Context, string, io.Reader) ([]byte, error)   { return nil, s.err }
func (s saying) Open(context.Context, string) (io.ReadWriteCloser, error) { return nil, s.err }
func (saying) Close() error                                               { return nil }

func TestTheLobbyIsReachedWhenItSaysAnything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		code berth.Code
	}{
		"with success":            {},
		"with a command unknown":  {err: &relay.StatusError{Status: 127}},
		"refused":                 {err: berth.Errorf(berth.CodeUnavailable, "Connection refused"), code: berth.CodeUnavailable},
		"silent":                  {err: berth.Errorf(berth.CodeTimedOut, "late"), code: berth.CodeTimedOut},
		"without a key that fits": {err: berth.Errorf(berth.CodeForbidden, "no key"), code: berth.CodeForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := exe.New(exe.Config{Lobby: saying{c.err}})
			defer p.Close()
			if err := p.Reach(t.Context(), berth.Environment{}); berth.CodeOf(err) != c.code {
				t.Errorf("Reach() = %v, want code %q", err, c.code)
			}
		})
	}
}
