package daytonaapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Toolbox is the API inside one sandbox. Its routes need the sandbox's id; a
// name fails there.
type Toolbox struct {
	client *Client
	base   string
}

// Toolbox finds the way into a sandbox.
func (c *Client) Toolbox(ctx context.Context, s Sandbox) (*Toolbox, error) {
	address := s.ToolboxProxyURL
	if address == "" {
		var err error
		if address, err = c.ToolboxProxyURL(ctx, s.ID); err != nil {
			return nil, err
		}
	}
	base, err := c.trusted(address)
	if err != nil {
		return nil, &berth.Error{Code: berth.CodeUnavailable, Message: "the sandbox's toolbox cannot be used", Cause: err}
	}
	return &Toolbox{client: c, base: base + "/" + url.PathEscape(s.ID)}, nil
}

func (t *Toolbox) call(method, path string) call {
	return call{base: t.base, method: method, path: path, starting: true}
}

// Version answers once the toolbox does. The proxy may answer 400, 404 and 502 for
// some seconds after a start; this waits for it.
func (t *Toolbox) Version(ctx context.Context) (string, error) {
	k := t.call(http.MethodGet, "/version")
	k.again, k.absent = true, true
	var v struct {
		Version string `json:"version"`
	}
	err := t.client.exchange(ctx, k, &v)
	return v.Version, err
}

// HomeDir is the home of the sandbox's user.
func (t *Toolbox) HomeDir(ctx context.Context) (string, error) {
	k := t.call(http.MethodGet, "/user-home-dir")
	k.again = true
	var v struct {
		Dir string `json:"dir"`
	}
	err := t.client.exchange(ctx, k, &v)
	if err == nil && !strings.HasPrefix(v.Dir, "/") {
		err = berth.Errorf(berth.CodeUnavailable, "the sandbox's toolbox names no home directory")
	}
	return v.Dir, err
}

// Executed is the end of a short command; Result is its output and errors, mixed.
type Executed struct {
	ExitCode int
	Result   string
}

// Execute runs a script of bash that is over soon, and may run twice. Its output
// is text. Error: timed_out when it took longer than limit.
func (t *Toolbox) Execute(ctx context.Context, script string, limit time.Duration) (e Executed, err error) {
	k := t.call(http.MethodPost, "/process/execute")
	k.again = true
	// The server answers after the script's own limit; the request has a margin.
	k.limit = limit + attemptLimit
	k.in = struct {
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
	}{script, max(1, int(limit/time.Second))}
	var end ended
	err = t.client.exchange(ctx, k, &end)
	if err == nil {
		e = Executed{*end.ExitCode, end.Result}
	}
	return e, err
}

// ended is an answer that may leave out how the script ended, which is not 0 then.
type ended struct {
	ExitCode *int   `json:"exitCode"`
	Result   string `json:"result"`
}

func (e *ended) isWhole() bool { return e.ExitCode != nil }

// Upload writes a file whole, as the sandbox's user, and makes its folders. The
// route is the one that old and new toolboxes share. The file is not there in
// part under its path: it is written beside it and moved.
func (t *Toolbox) Upload(ctx context.Context, path string, data []byte) error {
	var nonce [6]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	beside := path + ".tmp-" + hex.EncodeToString(nonce[:])
	body, media, err := uploadBody(beside, data)
	if err != nil {
		return fmt.Errorf("encoding an upload: %w", err)
	}
	k := t.call(http.MethodPost, "/files/bulk-upload")
	k.again, k.body, k.media, k.limit = true, body, media, uploadLimit
	if err := t.client.repeat(ctx, k, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, k.limit)
		defer cancel()
		resp, err := t.client.send(ctx, k)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxRaw))
		if err == nil && isHTML(resp.Header, answer) {
			return t.client.html(k)
		}
		return t.checkSize(ctx, beside, len(data)) // uploads were seen to end early with a success
	}); err != nil {
		return err
	}
	return t.move(ctx, beside, path)
}

const uploadLimit = 5 * time.Minute

// uploadBody puts what belongs before and behind data around it.
func uploadBody(path string, data []byte) (body [][]byte, media string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("files[0].path", path); err != nil { // before the file: it is read as a stream
		return nil, "", err
	}
	_, err = w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="files[0].file"; filename="file"`}, "Content-Type": {"application/octet-stream"},
	})
	if err != nil {
		return nil, "", err
	}
	before := b.Len()
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return [][]byte{b.Bytes()[:before], data, b.Bytes()[before:]}, w.FormDataContentType(), nil
}

// FileInfo is what the toolbox says of a file.
type FileInfo struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"`
	IsDir bool   `json:"isDir"`
}

// Stat describes a file. Error: not_found.
func (t *Toolbox) Stat(ctx context.Context, path string) (i FileInfo, err error) {
	k := t.call(http.MethodGet, "/files/info")
	k.again, k.query = true, url.Values{"path": {path}}
	err = t.client.exchange(ctx, k, &i)
	return i, err
}

func (t *Toolbox) checkSize(ctx context.Context, path string, want int) error {
	info, err := t.Stat(ctx, path)
	if err == nil && info.Size != int64(want) || berth.CodeOf(err) == berth.CodeNotFound {
		return &failure{kind: passing, err: berth.Errorf(berth.CodeUnavailable, "an upload to the sandbox was cut: %d of %d bytes", info.Size, want)}
	}
	return err
}

// move is repeated after a lost answer, when the file has left its place.
func (t *Toolbox) move(ctx context.Context, from, to string) error {
	k := t.call(http.MethodPost, "/files/move")
	k.again, k.query = true, url.Values{"source": {from}, "destination": {to}}
	err := t.client.exchange(ctx, k, nil)
	var e *berth.Error
	if errors.As(err, &e) && e.Code == berth.CodeNotFound {
		_, err = t.Stat(ctx, to)
	}
	return err
}

// Download reads a file whole. Error: too_large above most bytes.
func (t *Toolbox) Download(ctx context.Context, path string, most int64) (data []byte, err error) {
	k := t.call(http.MethodGet, "/files/download")
	k.again, k.query = true, url.Values{"path": {path}}
	err = t.client.repeat(ctx, k, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, uploadLimit)
		defer cancel()
		resp, err := t.client.send(ctx, k)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if isHTML(resp.Header, nil) {
			return t.client.html(k)
		}
		data, err = io.ReadAll(io.LimitReader(resp.Body, most+1))
		switch {
		case err != nil:
			return t.client.broken(ctx, k, err)
		case int64(len(data)) > most:
			return berth.Errorf(berth.CodeTooLarge, "the file is larger than %d bytes", most)
		case resp.ContentLength >= 0 && int64(len(data)) != resp.ContentLength:
			return &failure{kind: passing, err: t.client.unavailable(k, "cut a file short", nil)}
		}
		return nil
	})
	return data, err
}

// DeleteFolder removes a folder with all in it; one that is gone is no error.
func (t *Toolbox) DeleteFolder(ctx context.Context, path string) error {
	k := t.call(http.MethodDelete, "/files")
	k.again, k.query = true, url.Values{"path": {path}, "recursive": {"true"}}
	if err := t.client.exchange(ctx, k, nil); err != nil && !isNotFound(err) {
		return err
	}
	return nil
}
