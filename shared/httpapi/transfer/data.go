package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/berth-dev/berth/shared/berth"
)

// Write keeps the bytes of an upload when they are those that were announced.
// Errors: invalid, conflict when the transfer moves or is done, not_found.
func (s *Service) Write(ctx context.Context, id string, r io.Reader) error {
	rec, _, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case rec.Direction != berth.TransferUpload:
		return berth.Errorf(berth.CodeConflict, "transfer %s is a download: GET its data", id)
	case rec.Status == berth.TransferDone, rec.Status == berth.TransferMoving && !rec.abandoned(s.cfg.Clock.Now()):
		return berth.Errorf(berth.CodeConflict, "transfer %s is %s: its bytes cannot be replaced", id, rec.Status)
	}
	checked := &checkedReader{r: r, hash: sha256.New(), size: rec.Size, sum: rec.SHA256}
	err = s.cfg.Blobs.Put(ctx, blobOf(id), checked, rec.Size)
	if checked.err != nil {
		err = checked.err
	}
	if err != nil {
		return berth.Wrap(err, "keeping the bytes of transfer "+id)
	}
	return nil
}

// Open returns the bytes of a download that is done.
func (s *Service) Open(ctx context.Context, id string) (io.ReadCloser, berth.Transfer, error) {
	rec, _, err := s.find(ctx, id)
	if err != nil {
		return nil, rec.Transfer, err
	}
	if rec.Direction != berth.TransferDownload || rec.Status != berth.TransferDone {
		return nil, rec.Transfer, berth.Errorf(berth.CodeConflict, "transfer %s has no data to read: it is a download only after a commit, when it is done", id)
	}
	r, err := s.cfg.Blobs.Open(ctx, blobOf(id), 0, -1)
	return r, rec.Transfer, berth.Wrap(err, "reading the bytes of transfer "+id)
}

// checkedReader ends with an error unless what it read has the size and hash
// that were announced; an empty hash is not checked.
type checkedReader struct {
	r    io.Reader
	hash hash.Hash
	read int64
	size int64
	sum  string
	err  error // of the check
	// each, if set, is called after every read.
	each func()
}

func (c *checkedReader) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	c.read += int64(n)
	if c.each != nil {
		c.each()
	}
	switch {
	case c.read > c.size:
		c.err = berth.Errorf(berth.CodeInvalid, "there are more than the %d bytes that were announced", c.size)
	case err == io.EOF && c.read < c.size:
		c.err = berth.Errorf(berth.CodeInvalid, "there are %d bytes, fewer than the %d that were announced", c.read, c.size)
	case c.read == c.size && c.sum != "" && c.hex() != c.sum:
		c.err = berth.Errorf(berth.CodeInvalid, "the bytes have another SHA-256 than was announced")
	}
	if c.err != nil {
		return 0, c.err
	}
	return n, err
}

func (c *checkedReader) hex() string { return hex.EncodeToString(c.hash.Sum(nil)) }
