package transfer

import (
	"context"
	"io"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/digest"
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
	checked := digest.NewReader(r, rec.Size, rec.SHA256, nil)
	err = s.cfg.Blobs.Put(ctx, blobOf(id), checked, rec.Size)
	if fault := checked.Fault(); fault != nil {
		err = fault
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
