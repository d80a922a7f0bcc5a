package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// call is one request, before it is known how often it has to be sent.
type call struct {
	method string
	path   string // below /api/v1, its parts escaped
	query  url.Values
	header http.Header
	body   []byte
	// repeatable says that the request may reach the server twice.
	repeatable bool
	wait       time.Duration // how long the server may hold the answer back
	patience   time.Duration // instead of the client's, when not 0
}

// route joins path parts, each escaped; a part of dots only stays one part.
func route(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteByte('/')
		if part == "." || part == ".." {
			part = strings.ReplaceAll(part, ".", "%2E")
		} else {
			part = url.PathEscape(part)
		}
		b.WriteString(part)
	}
	return b.String()
}

// get is a call that reads.
func get(path string) call { return call{method: http.MethodGet, path: path, repeatable: true} }

// withJSON adds a JSON body.
func (k call) withJSON(v any) (call, error) {
	body, err := json.Marshal(v)
	k.body = body
	return k.with("Content-Type", "application/json"), err
}

func (k call) with(name, value string) call {
	if value == "" {
		return k
	}
	if k.header == nil {
		k.header = http.Header{}
	}
	k.header.Set(name, value)
	return k
}

func (k call) param(name, value string) call {
	if value == "" {
		return k
	}
	if k.query == nil {
		k.query = url.Values{}
	}
	k.query.Set(name, value)
	return k
}

func (k call) number(name string, n int64) call {
	if n == 0 {
		return k
	}
	return k.param(name, strconv.FormatInt(n, 10))
}

// waiting lets the server hold the answer back for up to d, at most MaxWait.
func (k call) waiting(d time.Duration) call {
	k.wait = min(max(d, 0), MaxWait)
	if k.wait == 0 {
		return k
	}
	return k.param("wait", strconv.FormatInt(k.wait.Milliseconds(), 10)+"ms")
}

// MaxWait is the longest that a server holds back the answer of a long poll.
const MaxWait = 20 * time.Second

// do sends k until it is answered or patience ends, and decodes a JSON answer
// into out, unless out is nil.
func (c *Client) do(ctx context.Context, k call, out any) (http.Header, error) {
	var raw []byte
	var url string
	var resp *http.Response
	err := c.retrying(ctx, k, func(anew bool) (err error) {
		raw, url, resp, err = c.attempt(ctx, k, anew)
		return err
	})
	var header http.Header
	if resp != nil {
		header = resp.Header
	}
	if err != nil || out == nil {
		return header, err
	}
	if t := mediaType(resp); t != "application/json" {
		return header, foreignAnswer(resp, url, contentName(t))
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return header, foreignAnswer(resp, url, "JSON of another form ("+err.Error()+")")
	}
	return header, nil
}

func contentName(mediaType string) string {
	if mediaType == "" {
		return "no content type"
	}
	return mediaType
}

// attempt sends k once and returns the whole body, with the URL for messages.
func (c *Client) attempt(ctx context.Context, k call, anew bool) ([]byte, string, *http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+k.wait)
	defer cancel()
	base, token, err := c.endpoint(ctx, anew)
	if err != nil {
		return nil, "", nil, err
	}
	url := base.String() + k.path
	address := url
	if len(k.query) > 0 {
		url += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, url, bytes.NewReader(k.body))
	if err != nil {
		return nil, address, nil, berth.Errorf(berth.CodeInvalid, "the request cannot be sent: %v", err)
	}
	for name, values := range k.header {
		req.Header[name] = values
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	req.Header.Set("User-Agent", c.userAgent)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, address, nil, unreachable(ctx, err, base.Host)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, address, resp, failureOf(resp, address)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, address, resp, unreachable(ctx, err, base.Host)
	}
	return body, address, resp, nil
}

// unreachable is the error of a request that got no whole answer. The end of
// the caller's context stays what it is.
func unreachable(ctx context.Context, err error, host string) error {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled
	}
	code := berth.CodeUnavailable
	if errors.Is(err, context.DeadlineExceeded) {
		code = berth.CodeTimedOut
	}
	var inner *url.Error
	if errors.As(err, &inner) { // its text repeats the URL, with the query
		err = inner.Err
	}
	return &berth.Error{Code: code, Message: "the server at " + host + " cannot be reached", Cause: err}
}
