package transfer

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// mover returns who can move the bytes without the server, and the bytes' URL for
// it; nil when nobody can.
func (s *Service) mover(ctx context.Context, provider berth.Provider, rec record) (berth.Mover, string, error) {
	mover, moves := provider.(berth.Mover)
	blobs, signs := s.cfg.Blobs.(Presigner)
	if !moves || !signs {
		return nil, "", nil
	}
	method := http.MethodPut
	if rec.Direction == berth.TransferUpload {
		method = http.MethodGet
	}
	address, err := blobs.URL(ctx, method, blobOf(rec.ID), validity)
	return mover, address, berth.Wrap(err, "addressing the bytes of transfer "+rec.ID)
}

// hand lets the provider move the file. It reports false when the server has to.
// The move is begun before it is recorded: a record that says so is always true.
func (s *Service) hand(ctx context.Context, provider berth.Provider, ref berth.SandboxRef, rec record, version int64) (berth.Transfer, bool, error) {
	mover, address, err := s.mover(ctx, provider, rec)
	if mover == nil || err != nil {
		return rec.Transfer, false, err
	}
	err = mover.StartMove(ctx, ref, berth.Move{
		ID: rec.ID, Direction: rec.Direction, Path: rec.Path, URL: address, Size: rec.Size, SHA256: rec.SHA256, Mode: rec.Mode,
	})
	if berth.CodeOf(err) == berth.CodeUnsupported {
		return rec.Transfer, false, nil
	}
	if err != nil {
		return rec.Transfer, true, berth.Wrap(err, "handing transfer "+rec.ID+" to the host agent")
	}
	now := s.cfg.Clock.Now()
	rec.Status, rec.Reason, rec.Handed = berth.TransferMoving, nil, true
	rec.LeaseUntil, rec.ExpiresAt = now.Add(lease), now.Add(validity)
	if version, err = s.put(ctx, rec, version); berth.CodeOf(err) == berth.CodeStale {
		t, err := s.Find(ctx, rec.ID) // somebody else has just committed it
		return t, true, err
	} else if err != nil {
		return rec.Transfer, true, err
	}
	t, err := s.look(ctx, rec, version)
	return t, true, err
}

// look asks the provider how far a move is that was handed to it, and records its
// end. A provider that does not answer is asked again until the lease ends.
func (s *Service) look(ctx context.Context, rec record, version int64) (berth.Transfer, error) {
	now := s.cfg.Clock.Now()
	state, err := s.ask(ctx, rec)
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound:
		rec.fail(berth.ReasonLost, "the host agent ended while it moved the file, or the sandbox is gone", "Commit the transfer again.")
	case err != nil && !rec.abandoned(now):
		return rec.Transfer, nil
	case err != nil:
		rec.fail(berth.ReasonLost, "nothing has been heard of the host agent that moves the file: "+messageOf(err), "Commit the transfer again.")
	case state.Status == berth.TransferMoving:
		if rec.LeaseUntil.Sub(now) > lease-renewal {
			return rec.Transfer, nil
		}
		rec.LeaseUntil = now.Add(lease)
	case state.Status == berth.TransferDone:
		if err := s.arrived(ctx, &rec, state); err != nil {
			return rec.Transfer, err
		}
	case state.Reason == nil:
		rec.fail(string(berth.CodeInternal), "the host agent could not move the file", "Commit the transfer again.")
	default:
		rec.Status, rec.Reason = berth.TransferFailed, state.Reason
	}
	if rec.Status != berth.TransferMoving {
		rec.ExpiresAt = now.Add(validity)
	}
	if _, err := s.put(ctx, rec, version); berth.CodeOf(err) == berth.CodeStale { // another has looked meanwhile
		rec, _, err = s.find(ctx, rec.ID)
		return rec.Transfer, err
	} else if err != nil {
		return rec.Transfer, err
	}
	if rec.Status != berth.TransferMoving {
		s.ended(ctx, rec)
	}
	return rec.Transfer, nil
}

// askTime bounds a look: long polls look again and again.
const askTime = 5 * time.Second

func (s *Service) ask(ctx context.Context, rec record) (berth.MoveState, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	sb, err := s.cfg.Sandbox(ctx, rec.Sandbox)
	if err != nil {
		return berth.MoveState{}, err
	}
	provider, err := s.cfg.Provider(sb.Provider)
	if err != nil {
		return berth.MoveState{}, err
	}
	mover, ok := provider.(berth.Mover)
	if !ok {
		return berth.MoveState{}, berth.Errorf(berth.CodeNotFound, "the provider moves no files any more")
	}
	return mover.DescribeMove(ctx, berth.RefOf(sb), rec.ID)
}

// arrived takes the provider's word for an upload, and looks for the bytes of a download.
func (s *Service) arrived(ctx context.Context, rec *record, state berth.MoveState) error {
	rec.Status = berth.TransferDone
	if rec.Direction == berth.TransferUpload {
		return nil
	}
	size, err := s.cfg.Blobs.Size(ctx, blobOf(rec.ID))
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound || (err == nil && size != state.Size):
		rec.fail(string(berth.CodeUnavailable), "the host agent has sent the file, and its bytes are not where they should be", "Commit the transfer again.")
		return nil
	case err != nil:
		return err
	}
	rec.Size, rec.SHA256, rec.Mode = state.Size, state.SHA256, state.Mode
	return nil
}

// ended clears up after a move whose end is recorded.
func (s *Service) ended(ctx context.Context, rec record) {
	if rec.Status == berth.TransferFailed {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "a transfer failed",
			slog.String("transfer", rec.ID), slog.String("sandbox", string(rec.Sandbox)), slog.String("code", rec.Reason.Code), slog.String("error", rec.Reason.Message))
	} else if rec.Direction == berth.TransferUpload {
		_ = s.cfg.Blobs.DeletePrefix(ctx, prefixOf(rec.ID)) // else the sweep does
	}
	s.notify(rec.ID)
}
