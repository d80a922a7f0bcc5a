package spool

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/berth-dev/berth/shared/berth"
)

// Writer appends frames to a spool file, each with one write. It is not safe
// for concurrent use.
type Writer struct {
	file File
	size int64
	buf  []byte
}

// File is what a Writer needs of a file that was opened for reading and appending.
type File interface {
	io.Writer
	io.ReaderAt
	Truncate(size int64) error
	Stat() (os.FileInfo, error)
}

// Summary is what a spool says about its command.
type Summary struct {
	Start *Start
	Exit  *berth.Exit
}

// OpenWriter reads what the spool holds and drops a cut last frame.
func OpenWriter(file File) (*Writer, Summary, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, Summary{}, fmt.Errorf("opening a spool: %w", err)
	}
	w := &Writer{file: file}
	if info.Size() == 0 {
		return w, Summary{}, nil
	}
	var x Index
	if err := x.Extend(file, info.Size()); err != nil {
		return nil, Summary{}, err
	}
	w.size = x.End()
	if w.size < info.Size() {
		if err := file.Truncate(w.size); err != nil {
			return nil, Summary{}, fmt.Errorf("dropping a cut frame: %w", err)
		}
	}
	return w, Summary{x.Start(), x.Exit()}, nil
}

// Size is the offset behind the last frame.
func (w *Writer) Size() int64 { return w.size }

// Write appends payload as frames of type t, split at MaxPayload. A frame is
// written whole or not at all, also on a full disk.
func (w *Writer) Write(t Type, payload []byte) error {
	for {
		n := min(len(payload), MaxPayload)
		w.buf = AppendFrame(w.buf[:0], t, payload[:n])
		if _, err := w.file.Write(w.buf); err != nil {
			// What a short write left would make every later frame unreadable.
			if cutErr := w.file.Truncate(w.size); cutErr != nil {
				return fmt.Errorf("dropping a cut frame: %w", cutErr)
			}
			return err
		}
		w.size += int64(len(w.buf))
		if payload = payload[n:]; len(payload) == 0 {
			return nil
		}
	}
}

// WriteStart appends the start frame.
func (w *Writer) WriteStart(s Start) error { return w.writeJSON(TypeStart, s) }

// WriteExit appends the exit frame, which is the last.
func (w *Writer) WriteExit(e berth.Exit) error { return w.writeJSON(TypeExit, e) }

func (w *Writer) writeJSON(t Type, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a spool frame: %w", err)
	}
	return w.Write(t, b)
}
