// Package spool is the file format of a command's record: frames of one type
// byte, a big-endian length of four bytes, and a payload. A spool begins with a
// start frame, holds output and marks in the order in which they were read, and
// ends with an exit frame. A spool of an exit frame alone is a tombstone: that
// command never starts. A cut last frame is not there yet.
//
// An offset into a spool is always the edge of a frame.
package spool

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Type is the kind of a frame.
type Type byte

// The frame types. Their numbers are on disk and never change.
const (
	TypeStart  Type = 1 // JSON of Start
	TypeStdout Type = 2
	TypeStderr Type = 3
	TypeMark   Type = 4 // text for people
	TypeExit   Type = 5 // JSON of berth.Exit
)

// HeaderBytes precede each payload.
const HeaderBytes = 5

// MaxPayload is the most that one frame holds, in bytes.
const MaxPayload = 64 << 10

// MaxFrame is the most that one frame takes in the file.
const MaxFrame = HeaderBytes + MaxPayload

// Start is the payload of the first frame. It is written before the process
// exists: a spool that has one belongs to a command that is never started again.
type Start struct {
	Command berth.CommandID `json:"command"`
	// Hash is of what was asked for; the same id with another hash is a conflict.
	Hash string `json:"hash"`
	// SandboxStart names the start of the sandbox that the command belongs to.
	// After another start, a spool without an exit frame is a lost command.
	SandboxStart string    `json:"sandbox_start"`
	At           time.Time `json:"at"`
}

// StreamOf maps output frames to their stream; ok is false for start and exit.
func StreamOf(t Type) (s berth.Stream, ok bool) {
	switch t {
	case TypeStdout:
		return berth.Stdout, true
	case TypeStderr:
		return berth.Stderr, true
	case TypeMark:
		return berth.Mark, true
	}
	return "", false
}

// AppendFrame appends one frame to dst. It panics when payload is longer than
// MaxPayload: splitting is the caller's.
func AppendFrame(dst []byte, t Type, payload []byte) []byte {
	if len(payload) > MaxPayload {
		panic(fmt.Sprintf("spool: payload of %d bytes", len(payload)))
	}
	dst = append(dst, byte(t))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}

// header reads a frame's header. need is the whole frame's length, 0 when b is
// too short to tell.
func header(b []byte) (t Type, need int, err error) {
	if len(b) < HeaderBytes {
		return 0, 0, nil
	}
	t = Type(b[0])
	n := binary.BigEndian.Uint32(b[1:HeaderBytes])
	if t < TypeStart || t > TypeExit || n > MaxPayload {
		return 0, 0, errNotEdge
	}
	return t, HeaderBytes + int(n), nil
}

var errNotEdge = berth.FieldErrorf(berth.CodeInvalid, "offset", "is not the edge of a frame of this output")

func decodeJSON(what string, payload []byte, v any) error {
	if err := json.Unmarshal(payload, v); err != nil {
		return fmt.Errorf("reading the %s frame of a spool: %w", what, err)
	}
	return nil
}
