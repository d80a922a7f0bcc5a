package daytonaapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
)

// maxRaw is how much of an answer that is no success is read, and maxWords how
// much of it is shown.
const (
	maxRaw   = 2 << 10
	maxWords = 500
)

func (c *Client) where(k call) string {
	if k.base != "" {
		return "the toolbox of the Daytona sandbox"
	}
	return "Daytona at " + c.base.Host
}

func (c *Client) unavailable(k call, what string, cause error) *berth.Error {
	return &berth.Error{Code: berth.CodeUnavailable, Message: c.where(k) + " " + what, Cause: cause}
}

// html is the failure of an answer that is a page.
func (c *Client) html(k call) *failure {
	return &failure{kind: foreign, err: &berth.Error{
		Code: berth.CodeInvalid, Message: c.where(k) + " answers HTML: is the URL right?",
		Remediation: "Write the API's base with its path, such as " + DefaultURL + ".",
	}}
}

// broken is the failure of a request that got no whole answer.
func (c *Client) broken(ctx context.Context, k call, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	var address *url.Error
	if errors.As(err, &address) { // its text repeats the whole URL, which may hold a token
		err = address.Err
	}
	if ctx.Err() != nil {
		return &failure{kind: passing, err: c.unavailable(k, "did not answer in time", nil)}
	}
	return &failure{kind: passing, err: c.unavailable(k, "cannot be reached", err)}
}

// said is the error body of the control plane, the proxy and the daemon.
type said struct {
	Message json.RawMessage `json:"message"` // text, or a list of texts
	Error   string          `json:"error"`
	Code    string          `json:"code"`
}

// words are the server's own, bounded, without the key.
func (c *Client) words(ctx context.Context, raw []byte) (words, code string) {
	var s said
	if json.Unmarshal(raw, &s) == nil {
		var list []string
		if json.Unmarshal(s.Message, &words) != nil && json.Unmarshal(s.Message, &list) == nil {
			words = strings.Join(list, "; ")
		}
		if words == "" {
			words = s.Error
		}
	} else if !isHTML(nil, raw) && utf8.Valid(raw) {
		words = string(raw)
	}
	words = strings.Join(strings.Fields(words), " ")
	if key, err := c.config.Key(ctx); err == nil && key.Len() >= berth.MinSecretBytes {
		words = strings.ReplaceAll(words, string(bytes.TrimSpace(key.Reveal())), "[secret]")
	}
	if len(words) > maxWords {
		words = strings.ToValidUTF8(words[:maxWords], "") + "…"
	}
	return words, s.Code
}

// refused is the failure that an answer means. The body's end does not matter.
func (c *Client) refused(ctx context.Context, k call, resp *http.Response) *failure {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxRaw))
	words, code := c.words(ctx, raw)
	status := resp.StatusCode
	message := fmt.Sprintf("%s answers %d", c.where(k), status)
	if words != "" {
		message += ": " + words
	}
	fail := func(kind kind, code berth.Code) *failure {
		return &failure{kind: kind, err: &berth.Error{Code: code, Message: message}}
	}
	lower := strings.ToLower(words)
	switch {
	case status == http.StatusUnauthorized:
		f := fail(final, berth.CodeForbidden)
		f.err.Message = "Daytona refuses the API key (unauthenticated): it is wrong, revoked or expired"
		f.err.Remediation = "Make a new key in Daytona's dashboard and give it to the server."
		return f
	case status == http.StatusForbidden:
		f := fail(final, berth.CodeForbidden)
		f.err.Remediation = "The key needs write:sandboxes, delete:sandboxes, write:snapshots and delete:snapshots, and an organization that is not suspended."
		return f
	case status == http.StatusNotFound && k.absent:
		return fail(starting, berth.CodeUnavailable)
	case status == http.StatusNotFound:
		return fail(final, berth.CodeNotFound)
	case status == http.StatusTooManyRequests:
		f := fail(limited, berth.CodeRateLimited)
		f.after = retryAfter(resp.Header, c.config.Clock.Now())
		return f
	case status == http.StatusConflict && !strings.Contains(lower, "already exists"),
		status == http.StatusBadRequest && strings.Contains(lower, "in progress"):
		return fail(changing, berth.CodeConflict)
	case status == http.StatusConflict, status == http.StatusGone:
		return fail(final, berth.CodeConflict)
	case status == http.StatusBadRequest && strings.Contains(lower, "is the sandbox started"):
		return fail(starting, berth.CodeUnavailable)
	case status == http.StatusBadRequest && strings.Contains(lower, "no available runners"):
		return fail(starting, berth.CodeUnavailable)
	case status == http.StatusBadRequest && isQuota(lower):
		f := fail(final, berth.CodeForbidden)
		f.err.Message = "the quota of the Daytona organization is used up: " + words
		f.err.Remediation = "Delete sandboxes or snapshots that are not needed, or raise the organization's limits."
		return f
	case status == http.StatusRequestTimeout, code == "PROCESS_EXECUTION_TIMEOUT":
		return fail(final, berth.CodeTimedOut)
	case status >= 500:
		if words == "" {
			message += " without a word"
		}
		return fail(passing, berth.CodeUnavailable)
	case status >= 300 && status < 400:
		message += ", a redirect, which is not followed: is the URL right?"
		return fail(final, berth.CodeInvalid)
	}
	return fail(final, berth.CodeInvalid)
}

func isQuota(lower string) bool {
	return strings.Contains(lower, "limit exceeded") || strings.Contains(lower, "quota")
}
