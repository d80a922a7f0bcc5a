package spool_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/spool"
)

func openFile(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "s"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestASpoolGivesBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	f := openFile(t)
	w, summary, err := spool.OpenWriter(f)
	if err != nil || summary != (spool.Summary{}) {
		t.Fatalf("OpenWriter of an empty file = %+v, %v", summary, err)
	}
	start := spool.Start{Command: "c", Hash: "h", SandboxStart: "s", At: time.Unix(5, 0).UTC()}
	exit := berth.Exit{Code: 143, Signal: "TERM", Reason: berth.ExitTimedOut}
	big := bytes.Repeat([]byte{0, 255, '\n'}, spool.MaxPayload) // three frames
	for _, err := range []error{
		w.WriteStart(start), w.Write(spool.TypeStdout, []byte("out")), w.Write(spool.TypeStderr, big),
		w.Write(spool.TypeMark, nil), w.WriteExit(exit),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := os.ReadFile(f.Name())
	if err != nil || int64(len(all)) != w.Size() {
		t.Fatalf("file has %d bytes, Size() = %d, %v", len(all), w.Size(), err)
	}
	frames, gotExit, err := spool.Decode(all)
	if err != nil {
		t.Fatal(err)
	}
	want := []berth.Frame{
		{Stream: berth.Stdout, Data: []byte("out")},
		{Stream: berth.Stderr, Data: big[:spool.MaxPayload]},
		{Stream: berth.Stderr, Data: big[spool.MaxPayload : 2*spool.MaxPayload]},
		{Stream: berth.Stderr, Data: big[2*spool.MaxPayload:]},
		{Stream: berth.Mark, Data: []byte{}},
	}
	if diff := cmp.Diff(want, frames); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&exit, gotExit); diff != "" {
		t.Errorf("exit (-want +got):\n%s", diff)
	}
	_, summary, err = spool.OpenWriter(f)
	if diff := cmp.Diff(spool.Summary{Start: &start, Exit: &exit}, summary); diff != "" || err != nil {
		t.Errorf("summary (-want +got), %v:\n%s", err, diff)
	}
	if first, err := spool.FirstStart(f); err != nil || *first != start {
		t.Errorf("FirstStart = %+v, %v", first, err)
	}
}

func TestACutLastFrameIsDroppedAndOverwritten(t *testing.T) {
	t.Parallel()
	f := openFile(t)
	whole := spool.AppendFrame(nil, spool.TypeStdout, []byte("kept"))
	cut := spool.AppendFrame(nil, spool.TypeStdout, []byte("lost"))
	for n := range len(cut) {
		if err := f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(append(bytes.Clone(whole), cut[:n]...)); err != nil {
			t.Fatal(err)
		}
		got, err := spool.ReadWhole(f, 0, 1<<20)
		if err != nil || !bytes.Equal(got, whole) {
			t.Fatalf("ReadWhole with %d bytes of a second frame = %q, %v", n, got, err)
		}
		w, _, err := spool.OpenWriter(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(spool.TypeStderr, []byte("next")); err != nil {
			t.Fatal(err)
		}
		all, _ := os.ReadFile(f.Name())
		frames, _, err := spool.Decode(all)
		if err != nil || len(frames) != 2 || string(frames[1].Data) != "next" {
			t.Fatalf("after a cut at %d: %v, %v", n, frames, err)
		}
	}
}

func TestAReadReturnsOneFrameHoweverSmallTheLimit(t *testing.T) {
	t.Parallel()
	b := spool.AppendFrame(nil, spool.TypeStdout, []byte(strings.Repeat("x", 1000)))
	n := len(b)
	b = spool.AppendFrame(b, spool.TypeStdout, []byte("y"))
	for _, limit := range []int{0, 1, spool.HeaderBytes, n - 1, n, n + 1} {
		got, err := spool.ReadWhole(bytes.NewReader(b), 0, limit)
		if err != nil || len(got) != n {
			t.Errorf("ReadWhole(limit %d) = %d bytes, %v; want %d", limit, len(got), err, n)
		}
	}
	if got, err := spool.ReadWhole(bytes.NewReader(b), int64(len(b)), 10); err != nil || len(got) != 0 {
		t.Errorf("ReadWhole at the end = %q, %v", got, err)
	}
}

func TestOnlyEdgesAreOffsets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		edges := map[int64]bool{0: true}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 40), 1, 30).Draw(t, "sizes") {
			// Payloads that look like frames themselves.
			payload := bytes.Repeat(spool.AppendFrame(nil, spool.TypeStdout, nil), 10)[:n]
			b = spool.AppendFrame(b, spool.TypeStderr, payload)
			edges[int64(len(b))] = true
		}
		var x spool.Index
		step := rapid.IntRange(1, len(b)).Draw(t, "step")
		for size := step; ; size += step {
			if err := x.Extend(bytes.NewReader(b[:min(size, len(b))]), int64(min(size, len(b)))); err != nil {
				t.Fatal(err)
			}
			if size >= len(b) {
				break
			}
		}
		if x.End() != int64(len(b)) {
			t.Fatalf("End() = %d, want %d", x.End(), len(b))
		}
		for off := int64(-1); off <= int64(len(b))+1; off++ {
			err := x.CheckEdge(bytes.NewReader(b), off)
			if (err == nil) != edges[off] || (err != nil && berth.CodeOf(err) != berth.CodeInvalid) {
				t.Fatalf("CheckEdge(%d) = %v, an edge: %v", off, err, edges[off])
			}
		}
	})
}

// shortFile writes only part of a frame, as a full disk does.
type shortFile struct {
	*os.File
	room int
}

func (f *shortFile) Write(p []byte) (int, error) {
	if len(p) <= f.room {
		f.room -= len(p)
		return f.File.Write(p)
	}
	n, _ := f.File.Write(p[:f.room])
	f.room = 0
	return n, syscall.ENOSPC
}

func TestAFullDiskLeavesWholeFrames(t *testing.T) {
	t.Parallel()
	f := &shortFile{openFile(t), 20}
	w, _, err := spool.OpenWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(spool.TypeStdout, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(spool.TypeStdout, bytes.Repeat([]byte("x"), 100)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Write on a full disk = %v", err)
	}
	f.room = 100
	if err := w.WriteExit(berth.Exit{Reason: berth.ExitExited}); err != nil {
		t.Fatal(err)
	}
	all, _ := os.ReadFile(f.Name())
	frames, exit, err := spool.Decode(all)
	if err != nil || len(frames) != 1 || exit == nil {
		t.Errorf("Decode = %v, %v, %v", frames, exit, err)
	}
}

func FuzzDecodeNeverPanics(f *testing.F) {
	f.Add(spool.AppendFrame(nil, spool.TypeExit, []byte(`{"code":0}`)))
	f.Add([]byte{2, 255, 255, 255, 255, 0})
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, b []byte) {
		frames, _, err := spool.Decode(b)
		whole, readErr := spool.ReadWhole(bytes.NewReader(b), 0, len(b))
		if err == nil && readErr == nil {
			again, _, err := spool.Decode(whole)
			if err != nil || len(again) != len(frames) {
				t.Errorf("Decode(ReadWhole(b)) = %d frames, %v; Decode(b) = %d", len(again), err, len(frames))
			}
		}
	})
}
