package filemove

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/digest"
)

// trip is one attempt at a move.
type trip struct {
	mover    *Mover
	move     *move
	ctx      context.Context // of this attempt alone
	progress func(moved int64)
}

// checked reads source with what was announced, and tells of progress.
func (t *trip) checked(source io.Reader, size int64) *digest.Reader {
	var r *digest.Reader
	r = digest.NewReader(source, size, t.move.spec.SHA256, func() { t.progress(r.Count()) })
	return r
}

// upload fetches the bytes and gives them to the sandbox as they come.
func (t *trip) upload() (berth.MoveState, error) {
	var none berth.MoveState
	spec := t.move.spec
	resp, err := t.mover.fetch(t.ctx, http.MethodGet, spec.URL, nil, 0)
	if err != nil {
		return none, err
	}
	defer resp.Body.Close()
	if resp.ContentLength >= 0 && resp.ContentLength != spec.Size {
		return none, berth.Errorf(berth.CodeInvalid, "there are %d bytes at the signed URL, not the %d that were announced", resp.ContentLength, spec.Size)
	}
	source := &broken{r: resp.Body}
	r := t.checked(source, spec.Size)
	info, err := t.move.provider.WriteFile(t.ctx, t.move.ref, spec.Path, r, spec.Size, spec.Mode, "")
	switch {
	case source.err != nil: // it explains what is too short
		return none, unreachable("reading from the signed URL", source.err)
	case r.Fault() != nil:
		return none, r.Fault()
	case err != nil:
		return none, err
	}
	return berth.MoveState{Status: berth.TransferDone, Moved: r.Count(), Size: info.Size, SHA256: r.Sum(), Mode: info.Mode}, nil
}

// broken remembers why a source ended early.
type broken struct {
	r   io.Reader
	err error
}

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // io.Reader's contract is this value itself
		b.err = err
	}
	return n, err
}

// download sends the sandbox's file piece by piece.
func (t *trip) download() (berth.MoveState, error) {
	var none berth.MoveState
	spec := t.move.spec
	first, err := t.piece(0)
	if err != nil {
		return none, err
	}
	size := first.Info.Size
	switch {
	case first.Info.Kind != berth.FileRegular:
		return none, berth.Errorf(berth.CodeInvalid, "is no file: only files can be downloaded")
	case spec.Size > 0 && spec.Size != size:
		return none, berth.Errorf(berth.CodeConflict, "the file has %d bytes, not the %d that were asked for", size, spec.Size)
	case size > berth.MaxMoveBytes:
		return none, berth.Errorf(berth.CodeTooLarge, "the file has %d bytes; the limit of a transfer is %d", size, int64(berth.MaxMoveBytes))
	}
	pieces := &pieces{read: t.piece, data: bytes.NewReader(first.Data), next: first.Next, eof: first.EOF}
	r := t.checked(pieces, size)
	if size == 0 { // a request without a body does not read it
		if _, err := io.Copy(io.Discard, r); err != nil {
			return none, err
		}
	}
	resp, err := t.mover.fetch(t.ctx, http.MethodPut, spec.URL, r, size)
	switch {
	case r.Fault() != nil:
		return none, r.Fault()
	case pieces.fault() != nil:
		return none, pieces.fault()
	case err != nil:
		return none, err
	}
	resp.Body.Close()
	if r.Count() != size {
		return none, berth.Errorf(berth.CodeUnavailable, "the signed URL was answered before all bytes had been sent")
	}
	return berth.MoveState{Status: berth.TransferDone, Moved: size, Size: size, SHA256: r.Sum(), Mode: first.Info.Mode}, nil
}

func (t *trip) piece(offset int64) (berth.FileData, error) {
	return t.move.provider.ReadFile(t.ctx, t.move.ref, t.move.spec.Path, offset, berth.MaxOutputRead, "")
}
