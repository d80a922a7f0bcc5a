package wire

import (
	"bytes"
	"io"
	"math/rand"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func all(t testing.TB, r io.Reader) []Packet {
	t.Helper()
	var got []Packet
	for in := NewPacketReader(r); ; {
		p, err := in.Next()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Data = bytes.Clone(p.Data)
		got = append(got, p)
	}
}

func TestPacketsAreFoundWhateverStandsBetweenThem(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	var want []Packet
	var sent []byte
	for i, size := range []int{0, 1, 253, 254, 255, 256, 508, 509, 4096, packetData} {
		data := make([]byte, size)
		switch i % 3 {
		case 0:
			random.Read(data)
		case 1:
			copy(data, bytes.Repeat([]byte{7}, size)) // no zero at all
		}
		p := Packet{Session: random.Uint64(), Kind: PacketData, Seq: uint32(i), Data: data}
		want = append(want, p)
		whole := appendPacket(nil, p)
		sent = append(sent, whole[:random.Intn(len(whole)-1)]...) // of somebody who was cut off
		sent = append(sent, whole...)
		sent = append(sent, bytes.Repeat([]byte{'x'}, 3*maxEncoded*(i%2))...) // and nonsense
	}
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(sent), "byte by byte": iotest.OneByteReader(bytes.NewReader(sent))} {
		if diff := cmp.Diff(want, all(t, r)); diff != "" {
			t.Errorf("%s (-want +got):\n%.2000s", name, diff)
		}
	}
}

func TestAPacketThatWasChangedIsNone(t *testing.T) {
	t.Parallel()
	whole := appendPacket(nil, Packet{Session: 1, Kind: PacketData, Data: []byte("some data")})
	for i := 1; i < len(whole)-1; i++ {
		changed := bytes.Clone(whole)
		changed[i] ^= 0x10
		if got := all(t, bytes.NewReader(changed)); len(got) > 0 {
			t.Errorf("with another byte %d: %+v", i, got)
		}
	}
}

func FuzzPackets(f *testing.F) {
	f.Add([]byte("x"), []byte{0, 1, 0})
	f.Add(bytes.Repeat([]byte{0}, 600), []byte{5, 1, 2})
	f.Add(bytes.Repeat([]byte{1}, 600), []byte{})
	f.Fuzz(func(t *testing.T, data, noise []byte) {
		data = data[:min(len(data), packetData)]
		want := Packet{Session: 42, Kind: PacketOpen, Seq: 7, Data: data}
		got := all(t, bytes.NewReader(appendPacket(noise, want)))
		if len(got) == 0 || !bytes.Equal(got[len(got)-1].Data, data) {
			t.Fatalf("%d packets after %d bytes of noise", len(got), len(noise))
		}
	})
}

// linked are both ends of a session whose pipes are in memory; drop takes the
// packets that are lost on the way to the far end.
func linked(drop func(Packet) bool) (near, far *Session) {
	toFar, fromNear := io.Pipe()
	toNear, fromFar := io.Pipe()
	near, far = NewSession(1, NewPacketWriter(fromNear), nil), NewSession(1, NewPacketWriter(fromFar), nil)
	carry := func(r io.Reader, to *Session, drop func(Packet) bool) {
		for in := NewPacketReader(r); ; {
			p, err := in.Next()
			switch {
			case err != nil || p.Kind == PacketClose:
				to.Ended()
				return
			case drop == nil || !drop(p):
				to.Take(p)
			}
		}
	}
	go carry(toFar, far, drop)
	go carry(toNear, near, nil)
	return near, far
}

func TestASessionIsAStreamBothWays(t *testing.T) {
	t.Parallel()
	near, far := linked(nil)
	data := make([]byte, 3*packetData+17)
	rand.New(rand.NewSource(2)).Read(data)
	go func() {
		_, _ = io.Copy(far, far)
	}()
	go func() {
		if n, err := near.Write(data); n != len(data) || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}()
	got := make([]byte, len(data))
	if _, err := io.ReadFull(near, got); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("what came back differs: %v", err)
	}
	near.Close()
	if _, err := io.ReadAll(far); err != nil && err != ErrSession {
		t.Errorf("the far end: %v", err)
	}
	if _, err := near.Write(data); err != ErrSession {
		t.Errorf("Write after Close: %v", err)
	}
}

func TestASessionThatLosesAPacketEnds(t *testing.T) {
	t.Parallel()
	near, far := linked(func(p Packet) bool { return p.Seq == 1 })
	go func() {
		for range 3 {
			if _, err := near.Write([]byte("part")); err != nil {
				return
			}
		}
	}()
	got, _ := io.ReadAll(far) // what it ends with does not matter
	if string(got) != "part" {
		t.Errorf("the far end read %q over a hole", got)
	}
}
