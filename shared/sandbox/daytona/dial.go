package daytona

import (
	"context"
	"crypto/rand"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// dial connects to the sandbox's daemon, by a relay in a session of its own. The
// relay speaks lines of base64: the toolbox drops NUL bytes and ends lines.
func (p *Provider) dial(ctx context.Context, ref berth.SandboxRef, create bool) (io.ReadWriteCloser, error) {
	l, err := p.way(ctx, ref, create)
	if err != nil {
		return nil, err
	}
	stream, err := p.openRelay(ctx, ref, l, create)
	if err != nil {
		p.lose(ref.ID, l)
		if code := berth.CodeOf(err); ctx.Err() == nil && code != berth.CodeUnavailable && code != berth.CodeRateLimited {
			// The toolbox says it of itself; what is so is said by the control plane.
			return nil, &berth.Error{Code: berth.CodeUnavailable, Message: "the sandbox's toolbox does not take commands", Cause: err}
		}
		return nil, err
	}
	return stream, nil
}

func (p *Provider) openRelay(ctx context.Context, ref berth.SandboxRef, l *live, create bool) (io.ReadWriteCloser, error) {
	command := berth.ShellQuote(l.program()) + " relay " + p.guestFlags(l, ref.ID) + " -base64"
	if create {
		command += " -create"
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(outer, p.config.Pace.Dial)
	defer cancel()
	session, err := l.toolbox.OpenSession(ctx, "berth-relay-"+strings.ToLower(rand.Text()), command)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(outer))
	raw, _ := ctx.Value(rawStream{}).(bool)
	s := &sessionStream{provider: p, session: session, life: life, end: end, raw: raw}
	stop := context.AfterFunc(ctx, end) // until it is open
	out, err := session.Follow(life)
	if err == nil {
		s.ReadCloser = out
		var rw io.ReadWriteCloser
		if rw, err = relay.Open(ctx, s, true); err == nil && stop() {
			return rw, nil
		} else if err == nil {
			err = ctx.Err()
		}
	}
	_ = s.Close()
	return nil, err
}

// sessionStream is a stream over a session: its standard input by requests, its
// output by one that stays open.
type sessionStream struct {
	io.ReadCloser // nil until the session is followed
	provider      *Provider
	session       *daytonaapi.Session
	life          context.Context // of the stream
	end           context.CancelFunc
	once          sync.Once
	// raw says that what is written is no message of its own, which could come
	// twice without harm.
	raw bool
}

// rawStream marks the context of a dial for a stream.
type rawStream struct{}

// OpenStream opens a stream into the sandbox, over a session of its own. Error:
// unsupported where no guest runs.
func (p *Provider) OpenStream(ctx context.Context, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	if p.isPlainNow(ctx, ref) {
		return nil, &berth.Error{
			Code: berth.CodeUnsupported, Message: "streams need the guest, which does not run in this sandbox",
			Remediation: "Use Daytona's own: berth sandbox ssh " + string(ref.ID) + ".",
		}
	}
	return p.Sandboxes.OpenStream(context.WithValue(ctx, rawStream{}, true), ref, spec)
}

const (
	// sendLimit bounds one request of standard input with its repetitions.
	sendLimit = 30 * time.Second
	// endLimit bounds the removal of a session.
	endLimit = 10 * time.Second
)

func (s *sessionStream) Write(b []byte) (int, error) {
	ctx, cancel := context.WithTimeout(s.life, sendLimit)
	defer cancel()
	if err := s.session.Input(ctx, string(b), !s.raw); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close ends the stream at once, and the session in the background: nobody needs
// to wait for a relay's end.
func (s *sessionStream) Close() error {
	s.once.Do(func() {
		s.end()
		if s.ReadCloser != nil {
			_ = s.ReadCloser.Close()
		}
		s.provider.spawn(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(s.life), endLimit)
			defer cancel()
			if err := s.session.Close(ctx); err != nil {
				s.provider.config.Logger.Debug("a relay's session is not removed", "error", err)
			}
		})
	})
	return nil
}
