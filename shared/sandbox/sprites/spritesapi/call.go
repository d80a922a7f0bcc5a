package spritesapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	maxReply = 4 << 20
	tries    = 4
)

// request is one call of the API.
type request struct {
	method string
	url    string
	body   any    // JSON
	raw    []byte // in place of body
	// once is for what must not be sent again when it may have happened.
	once  bool
	limit time.Duration // of one try; Pace.Call when zero
	// plain lets the answer be no JSON.
	plain bool
}

// do sends a request, again while the network, the server or a rate limit is in
// the way, and decodes the answer into result unless that is nil. Errors: those
// of [failure]; unavailable.
func (c *Client) do(ctx context.Context, r request, result any) error {
	if r.body != nil {
		var err error
		if r.raw, err = json.Marshal(r.body); err != nil {
			return berth.Wrap(err, "writing a request to Sprites")
		}
	}
	pause := c.config.Pace.FirstPause
	for try := 1; ; try++ {
		body, err := c.send(ctx, r)
		if err == nil {
			if result == nil {
				return nil
			}
			return c.decode(body, result)
		}
		wait, again := c.repeats(err, r.once)
		if !again || try == tries {
			return err
		}
		if c.config.Clock.Sleep(ctx, max(wait, pause)) != nil {
			return err
		}
		pause *= 2
	}
}

// decode reads an answer. One that does not say what it must is unavailable: taken
// for what it leaves out, it would be a sprite without labels, or no sprites at all.
func (c *Client) decode(body []byte, result any) error {
	if json.Unmarshal(body, result) != nil {
		return berth.Errorf(berth.CodeUnavailable, "%s answers with something else than JSON", c.base.Host)
	}
	if whole, ok := result.(interface{ isWhole() bool }); ok && !whole.isWhole() {
		return berth.Errorf(berth.CodeUnavailable, "%s answers with half of what was asked for", c.base.Host)
	}
	return nil
}

// repeats reports whether a request may be sent again, and after what time.
func (c *Client) repeats(err error, once bool) (time.Duration, bool) {
	var f *failed
	if !errors.As(err, &f) {
		return 0, false
	}
	if f.retryAfter > 0 {
		return f.retryAfter, f.retryAfter <= c.config.Pace.LongestWait
	}
	return 0, f.passing && !once
}

// failed carries, below an error, what the answer said of another try.
type failed struct {
	passing    bool          // it may succeed soon
	retryAfter time.Duration // the request was refused before it had an effect
	cause      error
}

func (f *failed) Error() string {
	if f.cause == nil {
		return "the request was not answered"
	}
	return f.cause.Error()
}
func (f *failed) Unwrap() error { return f.cause }

func (c *Client) send(ctx context.Context, r request) ([]byte, error) {
	limit := r.limit
	if limit == 0 {
		limit = c.config.Pace.Call
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.raw))
	if err != nil {
		return nil, berth.Wrap(err, "making a request to Sprites")
	}
	if err := c.authorize(ctx, req.Header); err != nil {
		return nil, err
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.config.HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return nil, c.unreachable(err)
	}
	if res.StatusCode >= 300 {
		return nil, c.failure(ctx, res, body)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); !r.plain && len(body) > 0 && kind == "text/html" {
		return nil, c.page()
	}
	return body, nil
}

// page is the error of a base that is that of something else.
func (c *Client) page() error {
	return &berth.Error{
		Code: berth.CodeInvalid, Message: c.base.String() + " answers with a page and not as the Sprites API does",
		Remediation: "Check the URL of the Sprites API in the server's settings.",
	}
}

func (c *Client) authorize(ctx context.Context, h http.Header) error {
	token, err := c.Token(ctx)
	if err != nil {
		return err
	}
	h.Set("Authorization", "Bearer "+string(token.Reveal()))
	h.Set("User-Agent", "berth")
	return nil
}

func (c *Client) unreachable(err error) error {
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: c.base.Host + " does not answer",
		Cause: &failed{passing: true, cause: err},
	}
}

// maxWords is how much of what Sprites says is shown, in bytes.
const maxWords = 500

// words are those of the service, in one line, bounded and without the token.
func (c *Client) words(ctx context.Context, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if token, err := c.config.Token(ctx); err == nil && token.Len() >= berth.MinSecretBytes {
		text = strings.ReplaceAll(text, string(token.Reveal()), "[secret]")
	}
	if len(text) > maxWords {
		text = text[:maxWords] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// failure makes an error of an answer that is no success. Codes: invalid as Sprites
// says what is wrong, forbidden, also for a token that is none, not_found,
// conflict, rate_limited, unavailable.
func (c *Client) failure(ctx context.Context, res *http.Response, body []byte) error {
	var said struct {
		Error      string `json:"error"`
		Message    string `json:"message"`
		RetryAfter int    `json:"retry_after_seconds"`
	}
	_ = json.Unmarshal(body, &said) // what is no JSON says nothing
	text := c.words(ctx, said.Message)
	if text == "" {
		text = c.words(ctx, said.Error)
	}
	if text == "" {
		text = "status " + strconv.Itoa(res.StatusCode)
	}
	e := &berth.Error{Message: "Sprites says: " + text}
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		e.Code, e.Remediation = berth.CodeForbidden, "Give the server a valid Sprites token: sprites.dev/account, or `sprite org auth`."
	case res.StatusCode < 400:
		e.Code, e.Message = berth.CodeInvalid, c.base.Host+" answers with a redirect, which is not followed"
		e.Remediation = "Check the URL of the Sprites API in the server's settings."
	case res.StatusCode == http.StatusForbidden:
		e.Code, e.Remediation = berth.CodeForbidden, "Check the organisation of the Sprites token and its plan."
	case res.StatusCode == http.StatusNotFound:
		e.Code = berth.CodeNotFound
	case res.StatusCode == http.StatusConflict:
		e.Code = berth.CodeConflict
	case res.StatusCode == http.StatusTooManyRequests:
		return c.limited(e, res, said.Error, said.RetryAfter)
	case res.StatusCode >= 500:
		e.Code, e.Cause = berth.CodeUnavailable, &failed{passing: true}
	default:
		e.Code = berth.CodeInvalid
	}
	return e
}

// limited says how long a rate limit lasts. That of sprites at the same time has
// no end to wait for.
func (c *Client) limited(e *berth.Error, res *http.Response, code string, seconds int) error {
	e.Code = berth.CodeRateLimited
	if n, ok := retryAfter(res.Header); ok {
		seconds = n
	}
	if code == "concurrent_sprite_limit_exceeded" {
		e.Remediation = "Destroy sandboxes that are not needed, or raise the limit of the account."
		return e
	}
	after := time.Duration(min(max(seconds, 1), maxAfter)) * time.Second
	e.Remediation, e.Cause = "Try again in "+after.String()+".", &failed{retryAfter: after}
	return e
}

// maxAfter is the longest time that is told as one, in seconds.
const maxAfter = 24 * 60 * 60

// retryAfter reads the header, in whole seconds. A date is meant by the clock of
// the server, which need not be ours.
func retryAfter(h http.Header) (seconds int, ok bool) {
	if n, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return n, true
	}
	at, err := http.ParseTime(h.Get("Retry-After"))
	now, nowErr := http.ParseTime(h.Get("Date"))
	if err != nil || nowErr != nil {
		return 0, false
	}
	return int(at.Sub(now) / time.Second), true
}
