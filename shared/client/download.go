package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Download writes a file of any size to w, a small one from a single answer, a
// larger one through a transfer, and checks its hash.
func (c *Client) Download(ctx context.Context, f File, w io.Writer) (berth.FileInfo, error) {
	first, err := c.ReadFile(ctx, f, 0, berth.MaxOutputRead)
	if err != nil {
		return first.Info, err
	}
	if first.Info.Kind != berth.FileRegular {
		return first.Info, berth.Errorf(berth.CodeInvalid, "%s is a %s, not a file", f.Path, first.Info.Kind)
	}
	if first.EOF {
		_, err := w.Write(first.Data)
		return first.Info, err
	}
	t, err := c.CreateTransfer(ctx, berth.TransferRequest{Sandbox: f.Sandbox, Path: f.Path, Direction: berth.TransferDownload})
	if err != nil {
		return first.Info, err
	}
	if t, err = c.move(ctx, t.ID); err != nil {
		return first.Info, err
	}
	first.Info.Size = t.Size
	return first.Info, c.receive(ctx, t, w)
}

// receive copies a download. Once a byte was written it is not begun again.
func (c *Client) receive(ctx context.Context, t berth.Transfer, w io.Writer) error {
	var resp *http.Response
	err := c.retrying(ctx, call{repeatable: true, patience: c.followPatience}, func(anew bool) (err error) {
		if anew {
			if t, err = c.FindTransfer(ctx, t.ID, 0); err != nil {
				return err
			}
		}
		resp, err = c.data(ctx, http.MethodGet, t, nil)
		return err
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, hash), resp.Body)
	switch {
	case err != nil:
		return unreachable(ctx, err, resp.Request.URL.Host)
	case n != t.Size || hex.EncodeToString(hash.Sum(nil)) != t.SHA256:
		return berth.Errorf(berth.CodeUnavailable, "the download of %s broke off or was changed on the way: %d of %d bytes came", t.Path, n, t.Size)
	}
	return nil
}

// data sends or asks for a transfer's bytes at its signed URL. The URL is the
// permission: the token stays here, as the URL may be another server's.
func (c *Client) data(ctx context.Context, method string, t berth.Transfer, body io.Reader) (*http.Response, error) {
	base, _, err := c.endpoint(ctx, false)
	if err != nil {
		return nil, err
	}
	address, err := base.Parse(t.URL)
	if err != nil {
		return nil, berth.Errorf(berth.CodeUnavailable, "the server gave a transfer without a usable URL")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stall := newStallGuard(func() { cancel(errStalled) })
	end := func() { stall.timer.Stop(); cancel(nil) }
	req, err := http.NewRequestWithContext(ctx, method, address.String(), stall.reader(body))
	if err != nil {
		end()
		return nil, err
	}
	if body != nil {
		req.ContentLength = t.Size
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	req.Header.Set("User-Agent", c.userAgent)
	resp, err := c.http.Do(req)
	if err != nil {
		err = unreachable(ctx, err, address.Host)
		end()
		return nil, err
	}
	resp.Body = &guardedBody{ReadCloser: resp.Body, stall: stall, end: end}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, failureOf(resp, withoutQuery(address))
	}
	return resp, nil
}

// withoutQuery is a URL for messages: a signature does not belong there.
func withoutQuery(u *url.URL) string {
	plain := *u
	plain.RawQuery = ""
	return plain.String()
}

// stallTime is how long a transfer may stand still.
const stallTime = time.Minute

var errStalled = berth.Errorf(berth.CodeTimedOut, "no byte moved for %s", stallTime)

// stallGuard gives up on a transfer that stands still, however long it takes in all.
type stallGuard struct{ timer *time.Timer }

func newStallGuard(giveUp func()) *stallGuard {
	return &stallGuard{time.AfterFunc(stallTime, giveUp)}
}

func (g *stallGuard) reader(r io.Reader) io.Reader {
	if r == nil {
		return nil
	}
	return guardedReader{r, g}
}

type guardedReader struct {
	io.Reader
	stall *stallGuard
}

func (r guardedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.stall.timer.Reset(stallTime)
	return n, err
}

type guardedBody struct {
	io.ReadCloser
	stall *stallGuard
	end   func()
}

func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.stall.timer.Reset(stallTime)
	return n, err
}

func (b *guardedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}
