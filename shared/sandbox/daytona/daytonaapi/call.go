package daytonaapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	attemptLimit = 30 * time.Second
	// The server itself waits up to 30 s for a start before it answers.
	startLimit = 90 * time.Second
	// maxAnswer is the largest answer that is taken, in bytes.
	maxAnswer = 8 << 20
)

// call is one request, before it is known how often it has to be sent.
type call struct {
	base   string // of a toolbox; the control plane's when empty
	method string
	path   string // escaped
	query  url.Values
	in     any           // JSON body, unless nil
	media  string        // of body
	body   [][]byte      // instead of in; its parts one after the other
	limit  time.Duration // of one try; attemptLimit when zero
	// again says that the call may reach the server twice.
	again bool
	// changes says that the server refuses it while the thing is changing, and
	// that it is to be repeated then.
	changes bool
	// starting says that the sandbox may be just about to answer, and absent that
	// even its address may not be known yet.
	starting, absent bool
}

// get is a call that may be repeated at will.
func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query, again: true}
}

// exchange sends k until it is answered, and decodes a JSON answer into out
// unless that is nil.
func (c *Client) exchange(ctx context.Context, k call, out any) error {
	return c.repeat(ctx, k, func(ctx context.Context) error {
		limit := k.limit
		if limit == 0 {
			limit = attemptLimit
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		resp, err := c.send(ctx, k)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		switch {
		case len(body) > maxAnswer:
			return &failure{kind: final, err: c.unavailable(k, "answers more than "+strconv.Itoa(maxAnswer>>20)+" MiB", nil)}
		case err != nil:
			return c.broken(ctx, k, err)
		case out == nil && !isHTML(resp.Header, body):
			return nil
		}
		return c.decode(k, resp.Header, body, out)
	})
}

func (c *Client) decode(k call, header http.Header, body []byte, out any) error {
	if isHTML(header, body) {
		return c.html(k)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return &failure{kind: passing, err: c.unavailable(k, "answers nothing", nil)}
	}
	if err := json.Unmarshal(body, out); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return &failure{kind: passing, err: c.unavailable(k, "answers something that is not JSON: is the URL right?", nil)}
		}
		return &failure{kind: final, err: c.unavailable(k, "answers JSON of a form that this berth does not know", err)}
	}
	if whole, ok := out.(interface{ isWhole() bool }); ok && !whole.isWhole() {
		return &failure{kind: passing, err: c.unavailable(k, "answers without what was asked for", nil)}
	}
	return nil
}

// send makes one request. Its error is a *failure, unless ctx ended or the key
// could not be read; the answer is a success whose body is not read.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	body, media := k.body, k.media
	if k.in != nil {
		encoded, err := json.Marshal(k.in)
		if err != nil {
			return nil, fmt.Errorf("encoding a request to Daytona: %w", err)
		}
		body, media = [][]byte{encoded}, "application/json"
	}
	base := k.base
	if base == "" {
		base = c.base.String()
	}
	address := base + k.path
	if len(k.query) > 0 {
		address += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, address, nil)
	if err != nil {
		return nil, fmt.Errorf("making a request to Daytona: %w", err)
	}
	if len(body) > 0 {
		req.GetBody = func() (io.ReadCloser, error) { return readerOf(body), nil }
		req.Body = readerOf(body)
		for _, part := range body {
			req.ContentLength += int64(len(part))
		}
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	if err := c.sign(ctx, req); err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, k, err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, c.refused(ctx, k, resp)
}

// readerOf reads the parts without a copy of them.
func readerOf(parts [][]byte) io.ReadCloser {
	readers := make([]io.Reader, len(parts))
	for i, part := range parts {
		readers[i] = bytes.NewReader(part)
	}
	return io.NopCloser(io.MultiReader(readers...))
}

func (c *Client) sign(ctx context.Context, req *http.Request) error {
	key, err := c.config.Key(ctx)
	if err != nil {
		return fmt.Errorf("reading the Daytona API key: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(key.Reveal())))
	req.Header.Set("User-Agent", c.config.UserAgent)
	req.Header.Set("X-Daytona-Source", "berth")
	req.Header.Set("X-Daytona-SDK-Version", sdkVersion)
	return nil
}

func isHTML(header http.Header, body []byte) bool {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err == nil && media == "text/html" {
		return true
	}
	text := strings.ToLower(string(bytes.TrimSpace(body[:min(len(body), 64)])))
	return strings.HasPrefix(text, "<!doctype") || strings.HasPrefix(text, "<html")
}
