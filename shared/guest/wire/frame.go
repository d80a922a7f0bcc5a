package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// MaxMessage is the most that one message takes, in bytes.
const MaxMessage = 16 << 20

// HeaderRoom is what a message takes beside its parameters and its body, at most.
const HeaderRoom = 1 << 10

const prefixBytes = 8 // length of header and body, length of header

// appendMessage appends m as it travels.
func appendMessage(dst []byte, m Message) ([]byte, error) {
	header, err := json.Marshal(m.Header)
	if err != nil {
		return dst, fmt.Errorf("encoding a message: %w", err)
	}
	if len(header)+len(m.Body) > MaxMessage {
		return dst, fmt.Errorf("message of %d bytes is over the cap of %d", len(header)+len(m.Body), MaxMessage)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(header)+len(m.Body)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(header)))
	dst = append(dst, header...)
	return append(dst, m.Body...), nil
}
