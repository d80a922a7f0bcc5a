package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

// call is one request, before it is known how often it has to be sent.
type call struct {
	method string
	path   string // escaped
	query  url.Values
	media  string // of the body
	body   []byte
	stream *stream       // instead of body
	wait   time.Duration // how long the agent may hold the answer back
	once   bool          // it must not reach the agent twice
}

// answer is what came back.
type answer struct {
	header http.Header
	body   []byte
}

func (p *Provider) call(method, path string, ref berth.SandboxRef) call {
	k := call{method: method, path: path, query: url.Values{}}
	return k.param("ref", ref.Ref)
}

func (k call) param(name, value string) call {
	if value != "" {
		k.query.Set(name, value)
	}
	return k
}

func (k call) number(name string, n int64) call {
	if n != 0 {
		k.query.Set(name, strconv.FormatInt(n, 10))
	}
	return k
}

func (k call) waiting(d time.Duration) call {
	k.wait = min(max(d, 0), agentapi.MaxWait)
	k.query.Set("wait", k.wait.String())
	return k
}

func (k call) bytes(body []byte) call {
	k.media, k.body = agentapi.MediaBytes, body
	return k
}

// exchange sends k, with in as its JSON body unless it is nil, and decodes a
// JSON answer into out, unless it is nil.
func (p *Provider) exchange(ctx context.Context, k call, in, out any) error {
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding a request to the host agent: %w", err)
		}
		k.media, k.body = agentapi.MediaJSON, body
	}
	a, err := p.do(ctx, k)
	if err != nil || out == nil {
		return err
	}
	return p.decode(a, out)
}

func (p *Provider) decode(a answer, out any) error {
	if media(a.header) != agentapi.MediaJSON {
		return p.foreign("without JSON")
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		return p.foreign("with JSON of another form")
	}
	return nil
}

// callTime is how long the agent may take beyond what it was asked to wait.
const callTime = time.Minute

// attempt sends k once.
func (p *Provider) attempt(ctx context.Context, k call) (answer, error) {
	var none answer
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(callTime+k.wait, func() { cancel(errSlow) })
	defer timer.Stop()
	body := io.Reader(bytes.NewReader(k.body))
	if k.stream != nil {
		k.stream.begin(timer)
		body = k.stream
	}
	address := p.base + k.path
	if len(k.query) > 0 {
		address += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, address, body)
	if err != nil {
		return none, fmt.Errorf("making a request to the host agent: %w", err)
	}
	if k.stream != nil {
		req.ContentLength = -1                   // in chunks, whose end is not the connection's
		req.Header.Set("Expect", "100-continue") // a refusal comes before the body
	}
	if k.media != "" {
		req.Header.Set("Content-Type", k.media)
	}
	req.Header.Set("Authorization", "Bearer "+p.config.Token)
	req.Header.Set(agentapi.InstallationHeader, string(p.config.Installation))
	client := p.kept
	if k.once {
		client = p.once
	}
	resp, err := client.Do(req)
	if err != nil {
		return none, p.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	a := answer{header: resp.Header}
	if a.body, err = readAll(resp); err != nil {
		return none, p.unreachable(ctx, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return none, p.refused(resp, a.body)
	}
	return a, nil
}

// maxAnswer is the largest answer that is taken, in bytes: a search can find a lot.
const maxAnswer = 64 << 20

// readAll reads a body into one allocation when its length is known.
func readAll(resp *http.Response) ([]byte, error) {
	switch n := resp.ContentLength; {
	case n > maxAnswer:
		return nil, errTooMuch
	case n >= 0:
		body := make([]byte, n)
		_, err := io.ReadFull(resp.Body, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if len(body) > maxAnswer {
		return nil, errTooMuch
	}
	return body, err
}

func media(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}
