package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Upload writes a file of any size: a small one at once, a larger one through a
// transfer, whose hash the server checks. r is read twice then; its position is
// where the file begins. mode 0 is 0644.
func (c *Client) Upload(ctx context.Context, f File, r io.ReadSeeker, mode uint32) error {
	start, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	small, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	if err != nil {
		return err
	}
	if len(small) <= MaxFileBytes {
		_, err := c.WriteFile(ctx, f, small, mode)
		return err
	}
	hash := sha256.New()
	hash.Write(small)
	rest, err := io.Copy(hash, r)
	if err != nil {
		return err
	}
	size := int64(len(small)) + rest
	t, err := c.CreateTransfer(ctx, berth.TransferRequest{
		Sandbox: f.Sandbox, Path: f.Path, Direction: berth.TransferUpload, Size: size,
		SHA256: hex.EncodeToString(hash.Sum(nil)), Mode: mode,
	})
	if err != nil {
		return err
	}
	err = c.retrying(ctx, call{repeatable: true, patience: c.followPatience}, func(anew bool) error {
		if anew {
			if t, err = c.FindTransfer(ctx, t.ID, 0); err != nil {
				return err
			}
		}
		if _, err := r.Seek(start, io.SeekStart); err != nil {
			return err
		}
		resp, err := c.data(ctx, http.MethodPut, t, io.LimitReader(r, size))
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	if err != nil {
		return err
	}
	_, err = c.move(ctx, t.ID)
	return err
}

// CreateTransfer begins a transfer. Upload and Download do all of it.
func (c *Client) CreateTransfer(ctx context.Context, req berth.TransferRequest) (berth.Transfer, error) {
	var out berth.Transfer
	k, err := call{method: http.MethodPost, path: "/transfers"}.keyed("").withJSON(req)
	if err == nil {
		_, err = c.do(ctx, k, &out)
	}
	return out, err
}

// FindTransfer returns a transfer as it stands; one that moves is waited for.
func (c *Client) FindTransfer(ctx context.Context, id string, wait time.Duration) (berth.Transfer, error) {
	var out berth.Transfer
	k := get(route("transfers", id)).waiting(wait)
	k.patience = c.followPatience
	_, err := c.do(ctx, k, &out)
	return out, err
}

// CommitTransfer has the server move the file.
func (c *Client) CommitTransfer(ctx context.Context, id string) (berth.Transfer, error) {
	var out berth.Transfer
	_, err := c.do(ctx, call{method: http.MethodPost, path: route("transfers", id, "commit"), repeatable: true}, &out)
	return out, err
}

// move commits a transfer and waits until it is done. A move that died with its
// server is committed again.
func (c *Client) move(ctx context.Context, id string) (berth.Transfer, error) {
	const tries = 3
	for try := 1; ; try++ {
		t, err := c.CommitTransfer(ctx, id)
		for err == nil && t.Status == berth.TransferMoving {
			t, err = c.FindTransfer(ctx, id, MaxWait)
		}
		switch {
		case err != nil:
			return t, err
		case t.Status == berth.TransferDone:
			return t, nil
		case t.Reason != nil && t.Reason.Code == berth.ReasonLost && try < tries:
			continue
		case t.Reason != nil:
			return t, &berth.Error{Code: transferCode(t.Reason.Code), Message: t.Reason.Message, Remediation: t.Reason.Remediation}
		}
		return t, berth.Errorf(berth.CodeUnavailable, "transfer %s is %s and not done", id, t.Status)
	}
}

// transferCode is the error code that a failed transfer's reason is, or unavailable.
func transferCode(reason string) berth.Code {
	if code := berth.Code(reason); code.Info().Code == code {
		return code
	}
	return berth.CodeUnavailable
}
