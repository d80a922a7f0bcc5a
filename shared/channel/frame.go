// Package channel is what a client and a guest say to each other over a stream
// into a sandbox: bytes both ways, the size of a terminal, the end of either
// direction, and how a shell ended. Who is between them passes it on unread.
package channel

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// Kind is what a frame is.
type Kind byte

// The kinds of frames. Others are for later and are passed over.
const (
	Data   Kind = 'd' // bytes; without any it only says that the sender is there
	Window Kind = 'w' // client: the terminal's size
	End    Kind = 'e' // no more bytes in this direction
	Exit   Kind = 'x' // guest: how the shell ended, in JSON; the last frame
)

const (
	headerBytes = 5 // kind and length
	// MaxPayload is the most that one frame carries, in bytes.
	MaxPayload = 32 << 10
)

// Writer writes frames, each as a whole. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex // guards all below
	out io.Writer
	buf []byte
}

// NewWriter writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{out: w} }

// Write sends data, in as many frames as it takes. No data is no frame.
func (w *Writer) Write(data []byte) (n int, err error) {
	for n < len(data) {
		piece := data[n:min(n+MaxPayload, len(data))]
		if err := w.send(Data, piece); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// Tell says that this side is still there, which fails when the other is not.
func (w *Writer) Tell() error { return w.send(Data, nil) }

// End says that no more bytes come.
func (w *Writer) End() error { return w.send(End, nil) }

// Resize tells the size of the client's terminal.
func (w *Writer) Resize(size berth.Window) error {
	var payload [4]byte
	binary.BigEndian.PutUint16(payload[:], size.Columns)
	binary.BigEndian.PutUint16(payload[2:], size.Rows)
	return w.send(Window, payload[:])
}

// Exit tells how the shell ended.
func (w *Writer) Exit(exit berth.Exit) error {
	payload, err := json.Marshal(exit)
	if err != nil {
		return err
	}
	return w.send(Exit, payload)
}

func (w *Writer) send(kind Kind, payload []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf[:0], byte(kind))
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(payload)))
	w.buf = append(w.buf, payload...)
	_, err := w.out.Write(w.buf)
	return err
}

// Frame is one that was read.
type Frame struct {
	Kind Kind
	// Payload is good until the next frame is read.
	Payload []byte
}

// Reader reads frames.
type Reader struct {
	in  io.Reader
	buf [MaxPayload]byte
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader { return &Reader{in: r} }

// Next returns the next frame; io.EOF at an end between frames.
func (r *Reader) Next() (Frame, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size > MaxPayload {
		return Frame{}, fmt.Errorf("a frame of %d bytes came on a stream, whose frames have %d at most", size, MaxPayload)
	}
	payload := r.buf[:size]
	if _, err := io.ReadFull(r.in, payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return Frame{Kind(header[0]), payload}, nil
}

// Window is the size that a frame of that kind tells.
func (f Frame) Window() (berth.Window, bool) {
	if f.Kind != Window || len(f.Payload) != 4 {
		return berth.Window{}, false
	}
	return berth.Window{Columns: binary.BigEndian.Uint16(f.Payload), Rows: binary.BigEndian.Uint16(f.Payload[2:])}, true
}

// Exit is what a frame of that kind tells.
func (f Frame) Exit() (exit berth.Exit, ok bool) {
	return exit, f.Kind == Exit && json.Unmarshal(f.Payload, &exit) == nil
}
