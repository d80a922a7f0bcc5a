package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Packet is a piece of one session's stream on a pair of pipes that nobody has
// for himself: what somebody else wrote may stand before it, and be cut off
// anywhere. A reader finds the next whole packet whatever came before, and knows
// by its session whether it is his.
type Packet struct {
	Session uint64
	Kind    PacketKind
	Seq     uint32 // of data, from 0 in each direction
	Data    []byte
}

// PacketKind is what a packet does.
type PacketKind byte

// The kinds of packets.
const (
	PacketOpen    PacketKind = 'o' // client: begin the session; Opening
	PacketOpened  PacketKind = 'b' // daemon: it has begun, and every other is over
	PacketRefused PacketKind = 'r' // daemon: it has not; Error
	PacketData    PacketKind = 'd'
	PacketClose   PacketKind = 'c' // the session is over
)

// Opening names the start of the sandbox that the client means.
type Opening struct {
	Start string `json:"start"`
}

const (
	packetHeader = 8 + 1 + 4 // session, kind, sequence
	packetSum    = 4
	// packetData is the most that one packet carries, in bytes.
	packetData = 32 << 10
	maxEncoded = packetHeader + packetData + packetSum + (packetHeader+packetData+packetSum)/254 + 2
)

var packetTable = crc32.MakeTable(crc32.Castagnoli)

// appendPacket appends p as it travels: between zeros, and without one in it.
func appendPacket(dst []byte, p Packet) []byte {
	raw := make([]byte, 0, packetHeader+len(p.Data)+packetSum)
	raw = binary.BigEndian.AppendUint64(raw, p.Session)
	raw = append(raw, byte(p.Kind))
	raw = binary.BigEndian.AppendUint32(raw, p.Seq)
	raw = append(raw, p.Data...)
	raw = binary.BigEndian.AppendUint32(raw, crc32.Checksum(raw, packetTable))
	return append(appendStuffed(append(dst, 0), raw), 0)
}

// appendStuffed writes raw without zeros: each byte of count says how many bytes
// follow up to the next zero, which it stands for.
func appendStuffed(dst, raw []byte) []byte {
	count := len(dst)
	dst = append(dst, 1)
	for _, b := range raw {
		if dst[count] == 0xff { // a full run stands for no zero
			count = len(dst)
			dst = append(dst, 1)
		}
		if b == 0 {
			count = len(dst)
			dst = append(dst, 1)
			continue
		}
		dst = append(dst, b)
		dst[count]++
	}
	return dst
}

// unstuff is the inverse of appendStuffed, in place.
func unstuff(b []byte) ([]byte, bool) {
	out := b[:0]
	for len(b) > 0 {
		n := int(b[0])
		if n == 0 || n > len(b) {
			return nil, false
		}
		out = append(out, b[1:n]...)
		b = b[n:]
		if n < 0xff && len(b) > 0 {
			out = append(out, 0)
		}
	}
	return out, true
}

func parsePacket(encoded []byte) (Packet, bool) {
	raw, ok := unstuff(encoded)
	if !ok || len(raw) < packetHeader+packetSum {
		return Packet{}, false
	}
	body, sum := raw[:len(raw)-packetSum], raw[len(raw)-packetSum:]
	if crc32.Checksum(body, packetTable) != binary.BigEndian.Uint32(sum) {
		return Packet{}, false
	}
	return Packet{
		Session: binary.BigEndian.Uint64(body), Kind: PacketKind(body[8]), Seq: binary.BigEndian.Uint32(body[9:]), Data: body[packetHeader:],
	}, true
}

// PacketReader finds packets in what comes.
type PacketReader struct {
	in  *bufio.Reader
	buf []byte
}

// NewPacketReader reads from r.
func NewPacketReader(r io.Reader) *PacketReader {
	return &PacketReader{in: bufio.NewReaderSize(r, 64<<10)}
}

// Next returns the next packet, whose data is good until the next call. What is
// none is passed over.
func (r *PacketReader) Next() (Packet, error) {
	for {
		r.buf = r.buf[:0]
		for {
			piece, err := r.in.ReadSlice(0)
			if len(r.buf)+len(piece) <= maxEncoded+1 {
				r.buf = append(r.buf, piece...)
			} else { // too long for a packet: without its end it is none
				r.buf = r.buf[:0]
			}
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return Packet{}, err
			}
		}
		if n := len(r.buf); n > 1 {
			if p, ok := parsePacket(r.buf[:n-1]); ok {
				return p, nil
			}
		}
	}
}
