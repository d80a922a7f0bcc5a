package transfer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/digest"
)

const (
	lease      = time.Minute // a move that shows no progress for so long is abandoned
	renewal    = lease / 3
	closeTime  = 10 * time.Second // to record the end of a move
	maxMessage = 512
	// attachedTime is how long an attached move may take: a gateway gives up after
	// 29 s, and the end has to be recorded.
	attachedTime = 25 * time.Second
)

// Commit begins to move the file: the provider does where it can, else the
// server, in the background unless the service is attached. A transfer that moves or is done stays as it is. Errors: not_found, conflict when an upload has no bytes yet.
func (s *Service) Commit(ctx context.Context, id string) (berth.Transfer, error) {
	rec, version, err := s.find(ctx, id)
	if err != nil {
		return rec.Transfer, err
	}
	now := s.cfg.Clock.Now()
	if rec.Status == berth.TransferDone || (rec.Status == berth.TransferMoving && !rec.abandoned(now)) {
		return rec.Transfer, nil
	}
	if rec.Direction == berth.TransferUpload {
		size, err := s.cfg.Blobs.Size(ctx, blobOf(id))
		if berth.CodeOf(err) == berth.CodeNotFound || (err == nil && size != rec.Size) {
			return rec.Transfer, berth.Errorf(berth.CodeConflict, "transfer %s has no bytes yet: PUT them to its url first", id)
		}
		if err != nil {
			return rec.Transfer, err
		}
	}
	sb, err := s.cfg.Sandbox(ctx, rec.Sandbox)
	if err != nil {
		return rec.Transfer, err
	}
	provider, err := s.cfg.Provider(sb.Provider)
	if err != nil {
		return rec.Transfer, err
	}
	if t, handed, err := s.hand(ctx, provider, berth.RefOf(sb), rec, version); handed || err != nil {
		return t, err
	}
	rec.Status, rec.Reason, rec.Handed, rec.LeaseUntil = berth.TransferMoving, nil, false, now.Add(lease)
	rec.ExpiresAt = now.Add(validity)
	if version, err = s.put(ctx, rec, version); berth.CodeOf(err) == berth.CodeStale {
		return s.Find(ctx, id) // somebody else has just committed it
	} else if err != nil {
		return rec.Transfer, err
	}
	m := &move{service: s, provider: provider, ref: berth.RefOf(sb), rec: rec, version: version}
	if s.cfg.Attached {
		ctx, cancel := context.WithTimeout(ctx, attachedTime)
		defer cancel()
		m.run(ctx)
		return s.Find(context.WithoutCancel(ctx), id)
	}
	s.moves.Go(func() { m.run(s.base) })
	return rec.Transfer, nil
}

// move is one file on its way.
type move struct {
	service  *Service
	provider berth.Provider
	ref      berth.SandboxRef
	rec      record
	version  int64
}

func (m *move) run(ctx context.Context) {
	var err error
	if m.rec.Direction == berth.TransferUpload {
		err = m.upload(ctx)
	} else {
		err = m.download(ctx)
	}
	if err != nil && m.service.cfg.Attached && ctx.Err() != nil {
		err = berth.Errorf(berth.CodeTimedOut, "the file could not be moved in %d s: it is too big, or the sandbox is too slow", attachedTime/time.Second)
	}
	m.rec.Status = berth.TransferDone
	m.rec.ExpiresAt = m.service.cfg.Clock.Now().Add(validity)
	if err != nil {
		m.rec.fail(reasonOf(err), messageOf(err), "Correct what is wrong and commit the transfer again, or make a new one.")
		m.service.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "a transfer failed",
			slog.String("transfer", m.rec.ID), slog.String("sandbox", string(m.rec.Sandbox)), slog.String("error", err.Error()))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if _, err := m.service.put(ctx, m.rec, m.version); err != nil {
		m.service.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the end of a transfer was not recorded",
			slog.String("transfer", m.rec.ID), slog.String("error", err.Error()))
	} else if m.rec.Status == berth.TransferDone && m.rec.Direction == berth.TransferUpload {
		_ = m.service.cfg.Blobs.DeletePrefix(ctx, prefixOf(m.rec.ID)) // else the sweep does
	}
	m.service.notify(m.rec.ID)
}

func reasonOf(err error) string { return string(berth.CodeOf(err)) }

// messageOf is what a client may see of err.
func messageOf(err error) string {
	var e *berth.Error
	if !errors.As(err, &e) || e.Code == berth.CodeInternal {
		return "the file could not be moved because of an error of berth's own; the server's log has it"
	}
	return e.Message[:min(len(e.Message), maxMessage)]
}

// renew keeps the lease while bytes flow.
func (m *move) renew(ctx context.Context) {
	now := m.service.cfg.Clock.Now()
	if m.rec.LeaseUntil.Sub(now) > lease-renewal {
		return
	}
	m.rec.LeaseUntil = now.Add(lease)
	if version, err := m.service.put(ctx, m.rec, m.version); err == nil {
		m.version = version
	}
}

func (m *move) upload(ctx context.Context) error {
	r, err := m.service.cfg.Blobs.Open(ctx, blobOf(m.rec.ID), 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	checked := digest.NewReader(r, m.rec.Size, m.rec.SHA256, func() { m.renew(ctx) })
	_, err = m.provider.WriteFile(ctx, m.ref, m.rec.Path, checked, m.rec.Size, m.rec.Mode, "")
	if fault := checked.Fault(); fault != nil {
		err = fault
	}
	return err
}

func (m *move) download(ctx context.Context) error {
	first, err := m.reader(ctx)(0)
	if err != nil {
		return err
	}
	if first.Info.Kind != berth.FileRegular {
		return berth.Errorf(berth.CodeInvalid, "is no file: only files can be downloaded")
	}
	if m.rec.Size > 0 && m.rec.Size != first.Info.Size {
		return berth.Errorf(berth.CodeConflict, "the file has %d bytes, not the %d that were asked for", first.Info.Size, m.rec.Size)
	}
	pieces := &fileReader{read: m.reader(ctx), piece: bytes.NewReader(first.Data), next: first.Next, eof: first.EOF}
	checked := digest.NewReader(pieces, first.Info.Size, m.rec.SHA256, func() { m.renew(ctx) })
	err = m.service.cfg.Blobs.Put(ctx, blobOf(m.rec.ID), checked, first.Info.Size)
	if fault := checked.Fault(); fault != nil {
		err = fault
	}
	if err != nil {
		return err
	}
	m.rec.Size, m.rec.SHA256, m.rec.Mode = checked.Count(), checked.Sum(), first.Info.Mode
	return nil
}

// reader reads a piece of the sandbox's file, from an offset on.
func (m *move) reader(ctx context.Context) func(offset int64) (berth.FileData, error) {
	return func(offset int64) (berth.FileData, error) {
		return m.provider.ReadFile(ctx, m.ref, m.rec.Path, offset, berth.MaxOutputRead, "")
	}
}

// fileReader makes one stream of the pieces of a file.
type fileReader struct {
	read  func(offset int64) (berth.FileData, error)
	piece *bytes.Reader
	next  int64
	eof   bool
}

func (f *fileReader) Read(p []byte) (int, error) {
	for f.piece.Len() == 0 {
		if f.eof {
			return 0, io.EOF
		}
		data, err := f.read(f.next)
		if err != nil {
			return 0, err
		}
		if len(data.Data) == 0 && !data.EOF {
			return 0, io.ErrNoProgress
		}
		f.piece, f.next, f.eof = bytes.NewReader(data.Data), data.Next, data.EOF
	}
	return f.piece.Read(p)
}
