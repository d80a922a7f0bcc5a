package daytonaapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// kind says what may be done about a failure.
type kind int

const (
	final    kind = iota
	limited       // too many requests: it had no effect
	changing      // the thing is changing: it had no effect
	starting      // the sandbox does not answer yet: it had no effect
	passing       // it may have had its effect
	foreign       // somebody else answered: a page of a proxy or a dashboard
)

// failure is a try that failed.
type failure struct {
	kind kind
	// after is how long the server wants to be left alone.
	after time.Duration
	err   *berth.Error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

const (
	// maxForeign is how often a page is taken for a passing fault; after that the
	// URL is wrong.
	maxForeign = 5
	// longestRest is the most that a server may ask to wait.
	longestRest = time.Minute
	growth      = 10 // of pauses
)

// repeat calls try until it succeeds or nothing more is to be hoped for.
func (c *Client) repeat(ctx context.Context, k call, try func(context.Context) error) error {
	end := c.config.Clock.Now().Add(c.config.Patience)
	pages := 0
	for pause := c.config.FirstPause; ; pause = min(2*pause, growth*c.config.FirstPause) {
		err := try(ctx)
		var f *failure
		if !errors.As(err, &f) {
			return err
		}
		switch f.kind {
		case limited:
		case changing:
			if !k.changes {
				return f.err
			}
		case starting:
			if !k.starting {
				return f.err
			}
		case passing:
			if !k.again {
				return f.err
			}
		case foreign:
			if !k.again { // whatever it was, it may have passed the call on
				return &berth.Error{Code: berth.CodeUnavailable, Message: f.err.Message, Remediation: f.err.Remediation}
			}
			if pages++; pages == maxForeign {
				return f.err
			}
		default:
			return f.err
		}
		// Between half and the whole of the pause, so that clients do not march in step.
		rest := pause/2 + rand.N(pause/2+1)
		if f.after > 0 {
			rest = f.after + rand.N(pause/2+1)
		}
		if f.after > longestRest || c.config.Clock.Now().Add(rest).After(end) {
			return f.err
		}
		if err := c.config.Clock.Sleep(ctx, rest); err != nil {
			return errors.Join(f.err, err)
		}
	}
}

// retryAfter reads the header, in seconds or as a date, also with the name of the
// limit behind it; of several the longest. A date is meant by the server's clock,
// which its answer tells.
func retryAfter(h http.Header, now time.Time) (longest time.Duration) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	for name, values := range h {
		if name != "Retry-After" && !strings.HasPrefix(name, "Retry-After-") || len(values) == 0 {
			continue
		}
		if seconds, err := strconv.ParseFloat(strings.TrimSpace(values[0]), 64); err == nil && seconds >= 0 && seconds < 1e6 {
			longest = max(longest, time.Duration(seconds*float64(time.Second)))
		} else if at, err := http.ParseTime(values[0]); err == nil {
			longest = max(longest, at.Sub(now))
		}
	}
	return longest
}
