package githubapp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// github asks one GitHub.
type github struct {
	Config
	*opened
}

const (
	maxReply = 1 << 20
	tries    = 4
	// longestWait is how long a rate limit may ask for; who would have to wait
	// longer is told so.
	longestWait = 15 * time.Second
)

// reply is what GitHub answered.
type reply struct {
	status int
	header http.Header
	// path is that of the request that was answered, after redirects.
	path    string
	body    []byte
	message string // GitHub's own, of a failure
}

// call sends a request as the App, again while the network, the server or a rate
// limit is in the way. Any other answer is a reply.
func (g github) call(ctx context.Context, method, path string, body any) (*reply, error) {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return nil, berth.Wrap(err, "writing a request to GitHub")
		}
	}
	for try := 1; ; try++ {
		r, err := g.once(ctx, method, g.api+path, sent)
		wait, limited := time.Duration(try)*500*time.Millisecond, false
		switch {
		case err == nil && !r.isPassing():
			return r, nil
		case err == nil:
			var asked time.Duration
			if asked, limited = r.retryAfter(g.Clock.Now()); limited {
				wait = asked
			}
			err = g.passing(r, limited, wait)
		case berth.CodeOf(err) != berth.CodeUnavailable:
			return nil, err
		}
		if try == tries || wait > longestWait || g.Clock.Sleep(ctx, wait) != nil {
			return nil, err
		}
	}
}

func (g github) passing(r *reply, limited bool, wait time.Duration) error {
	if limited {
		return &berth.Error{
			Code: berth.CodeRateLimited, Message: "GitHub's rate limit is reached: " + r.message,
			Remediation: fmt.Sprintf("Try again in %s.", wait.Round(time.Second)),
		}
	}
	return berth.Errorf(berth.CodeUnavailable, "%s answers with status %d", g.host, r.status)
}

// once sends one request.
func (g github) once(ctx context.Context, method, url string, body []byte) (*reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, berth.Wrap(err, "making a request to GitHub")
	}
	jwt, err := g.sign(g.Clock.Now())
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+string(jwt.Reveal()))
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	req.Header.Set("User-Agent", "berth")
	res, err := g.HTTP.Do(req)
	if err != nil {
		return nil, g.unreachable(err)
	}
	defer res.Body.Close()
	r := &reply{status: res.StatusCode, header: res.Header, path: res.Request.URL.Path}
	if r.body, err = io.ReadAll(io.LimitReader(res.Body, maxReply)); err != nil {
		return nil, g.unreachable(err)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode < 300 && kind != "application/json" {
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Message: g.api + " answers with " + strconv.Quote(kind) + " and not as GitHub's API does",
			Remediation: "Check the URL of GitHub in the server's settings.",
		}
	}
	var failure struct{ Message string }
	if res.StatusCode >= 300 && json.Unmarshal(r.body, &failure) == nil {
		r.message = failure.Message
	}
	return r, nil
}

func (g github) unreachable(err error) error {
	return &berth.Error{
		Code: berth.CodeUnavailable, Message: g.host + " does not answer",
		Remediation: "Check the network of the server, and the URL of GitHub in its settings.", Cause: err,
	}
}

// isPassing reports whether the answer may be another one soon.
func (r *reply) isPassing() bool {
	if _, limited := r.retryAfter(time.Time{}); limited {
		return true
	}
	return r.status >= 500
}

// retryAfter says how long a rate limit asks to wait: the primary one by the time
// of its reset, the secondary one by Retry-After.
func (r *reply) retryAfter(now time.Time) (time.Duration, bool) {
	if r.status != http.StatusTooManyRequests && r.status != http.StatusForbidden {
		return 0, false
	}
	if seconds, err := strconv.Atoi(r.header.Get("Retry-After")); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if reset, err := strconv.ParseInt(r.header.Get("X-Ratelimit-Reset"), 10, 64); err == nil && r.header.Get("X-Ratelimit-Remaining") == "0" {
		return max(time.Second, time.Unix(reset, 0).Sub(r.date(now))), true
	}
	return time.Minute, r.status == http.StatusTooManyRequests // what GitHub asks for without a header
}

// date is GitHub's own time; now when it does not say.
func (r *reply) date(now time.Time) time.Time {
	if date, err := http.ParseTime(r.header.Get("Date")); err == nil {
		return date
	}
	return now
}

// isPublic reports whether everybody may read a repository. It asks as git does:
// that counts towards no limit of the API.
func (g github) isPublic(ctx context.Context, r repository) (bool, error) {
	url := g.web + "/" + r.String() + ".git/info/refs?service=git-upload-pack"
	for try := 1; ; try++ {
		status, err := g.look(ctx, url)
		switch {
		case err == nil && status == http.StatusOK:
			return true, nil
		case err == nil && status < 500 && status != http.StatusTooManyRequests:
			return false, nil
		case err == nil:
			err = berth.Errorf(berth.CodeUnavailable, "%s answers with status %d", g.host, status)
		}
		if try == tries || g.Clock.Sleep(ctx, time.Duration(try)*500*time.Millisecond) != nil {
			return false, err
		}
	}
}

func (g github) look(ctx context.Context, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, berth.Wrap(err, "making a request to GitHub")
	}
	req.Header.Set("User-Agent", "git/2.40 (berth)") // others are shown a page
	req.Header.Set("Git-Protocol", "version=2")      // the answer is short
	res, err := g.HTTP.Do(req)
	if err != nil {
		return 0, g.unreachable(err)
	}
	defer res.Body.Close()
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode == http.StatusOK && kind != "application/x-git-upload-pack-advertisement" {
		return http.StatusNotFound, nil // a page of a proxy or of a login is no repository
	}
	return res.StatusCode, nil
}
