package filemove_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/filemove"
)

var ref = berth.SandboxRef{ID: "01arz3ndektsv4rrffq69g5fav"}

const moveID = "01brz3ndektsv4rrffq69g5fav"

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// files is a provider of one sandbox whose files are in memory.
type files struct {
	berth.Provider
	mu      sync.Mutex // guards what follows
	content map[string][]byte
	mode    uint32
}

func (f *files) Kind() berth.ProviderKind { return berth.ProviderDocker }

func (f *files) WriteFile(_ context.Context, _ berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, _ string) (berth.FileInfo, error) {
	content, err := io.ReadAll(r)
	if err == nil && int64(len(content)) != size {
		err = berth.Errorf(berth.CodeInvalid, "another size")
	}
	if err != nil {
		return berth.FileInfo{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content[path], f.mode = content, mode
	return berth.FileInfo{Path: path, Size: size, Mode: mode}, nil
}

func (f *files) ReadFile(_ context.Context, _ berth.SandboxRef, path string, offset, limit int64, _ string) (berth.FileData, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, there := f.content[path]
	if !there {
		return berth.FileData{}, berth.Errorf(berth.CodeNotFound, "no such file")
	}
	end := min(offset+limit, int64(len(content)))
	info := berth.FileInfo{Path: path, Kind: berth.FileRegular, Size: int64(len(content)), Mode: 0o640}
	return berth.FileData{Info: info, Data: content[min(offset, end):end], Next: end, EOF: end == int64(len(content))}, nil
}

func (f *files) of(path string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.content[path]
}

// store is the place behind signed URLs.
type store struct {
	*httptest.Server
	requests atomic.Int64
	mu       sync.Mutex // guards objects
	objects  map[string][]byte
}

func newStore(t *testing.T, instead func(n int64, w http.ResponseWriter, r *http.Request) bool) *store {
	t.Helper()
	s := &store{objects: map[string][]byte{}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.requests.Add(1)
		if instead != nil && instead(n, w, r) {
			return
		}
		if r.Method == http.MethodPut {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.ContentLength != int64(len(body)) {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.objects[r.URL.Path] = body
			return
		}
		s.mu.Lock()
		body, there := s.objects[r.URL.Path]
		s.mu.Unlock()
		if !there {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *store) put(path string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = body
}

func (s *store) get(path string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path]
}

// patient is a clock that does not wait.
type patient struct{ berth.SystemClock }

func (patient) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func newMover(t *testing.T, s *store, log io.Writer) *filemove.Mover {
	t.Helper()
	client := s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	m := filemove.New(filemove.Config{Client: client, Clock: patient{}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(m.Close)
	return m
}

func ended(t *testing.T, m *filemove.Mover, id string) berth.MoveState {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		state, err := m.Describe(berth.ProviderDocker, ref.ID, id)
		if err != nil {
			t.Fatal(err)
		}
		if state.Status != berth.TransferMoving {
			return state
		}
	}
	t.Fatal("the move did not end")
	return berth.MoveState{}
}

func uploadOf(s *store, content []byte) berth.Move {
	return berth.Move{
		ID: moveID, Direction: berth.TransferUpload, Path: "data/in", URL: s.URL + "/in?signature=canary",
		Size: int64(len(content)), SHA256: sum(content), Mode: 0o755,
	}
}

func TestAFileGoesBothWays(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 3<<20 + 7} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s, p := newStore(t, nil), &files{content: map[string][]byte{}}
			m := newMover(t, s, io.Discard)
			content := bytes.Repeat([]byte("\x00\xffz"), size/3+1)[:size]
			s.put("/in", content)
			if err := m.Start(p, ref, uploadOf(s, content)); err != nil {
				t.Fatal(err)
			}
			want := berth.MoveState{Status: berth.TransferDone, Moved: int64(size), Size: int64(size), SHA256: sum(content), Mode: 0o755}
			if got := ended(t, m, moveID); got != want || !bytes.Equal(p.of("data/in"), content) || p.mode != 0o755 {
				t.Fatalf("upload: %+v, reason %+v, and %d bytes", got, got.Reason, len(p.of("data/in")))
			}
			down := berth.Move{ID: "01crz3ndektsv4rrffq69g5fav", Direction: berth.TransferDownload, Path: "data/in", URL: s.URL + "/out"}
			if err := m.Start(p, ref, down); err != nil {
				t.Fatal(err)
			}
			want.Mode = 0o640
			if got := ended(t, m, down.ID); got != want || !bytes.Equal(s.get("/out"), content) {
				t.Errorf("download: %+v, reason %+v, and %d bytes", got, got.Reason, len(s.get("/out")))
			}
		})
	}
}

func TestAMoveIsStartedOnceHoweverOftenItIsAskedFor(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := newStore(t, func(int64, http.ResponseWriter, *http.Request) bool { <-gate; return false })
	p, m := &files{content: map[string][]byte{}}, newMover(t, s, io.Discard)
	s.put("/in", []byte("bytes"))
	up := uploadOf(s, []byte("bytes"))
	for range 3 {
		up.URL += "&again" // signed anew
		if err := m.Start(p, ref, up); err != nil {
			t.Fatal(err)
		}
	}
	other := up
	other.Path = "elsewhere"
	if err := m.Start(p, ref, other); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("another move with the id: %v", err)
	}
	close(gate)
	ended(t, m, moveID)
	if err := m.Start(p, ref, up); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, m, moveID); got.Status != berth.TransferDone || s.requests.Load() != 1 {
		t.Errorf("%+v after %d requests", got, s.requests.Load())
	}
	if _, err := m.Describe(berth.ProviderDocker, ref.ID, "01drz3ndektsv4rrffq69g5fav"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("a move that nobody has started: %v", err)
	}
}

func TestAMoveThatFailsSaysWhyWithoutItsURLAndCanBeStartedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		instead func(w http.ResponseWriter, r *http.Request)
		code    berth.Code
		text    string
		tries   int64
	}{
		{"the signature has expired", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }, berth.CodeForbidden, "has expired", 1},
		{"there is nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, berth.CodeNotFound, "no bytes", 1},
		{"it leads elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, berth.CodeForbidden, "another address", 1},
		{"the store is down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, berth.CodeUnavailable, "503", 3},
		{"other bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("bites")) }, berth.CodeInvalid, "SHA-256", 1},
		{"more bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("bytes and more")) }, berth.CodeInvalid, "14 bytes", 1},
		{"more bytes, in chunks", func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write([]byte("bytes and more"))
		}, berth.CodeInvalid, "more than the 5 bytes", 1},
		{"the connection breaks", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			_, _ = w.Write([]byte("by"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, berth.CodeUnavailable, "reading from the signed URL", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			broken.Store(true)
			s := newStore(t, func(_ int64, w http.ResponseWriter, r *http.Request) bool {
				if broken.Load() {
					tt.instead(w, r)
				}
				return broken.Load()
			})
			s.put("/in", []byte("bytes"))
			var log lockedBuffer
			p, m := &files{content: map[string][]byte{"data/in": []byte("before")}}, newMover(t, s, &log)
			if err := m.Start(p, ref, uploadOf(s, []byte("bytes"))); err != nil {
				t.Fatal(err)
			}
			got := ended(t, m, moveID)
			if got.Status != berth.TransferFailed || got.Reason.Code != string(tt.code) || !strings.Contains(got.Reason.Message, tt.text) || got.Reason.Remediation == "" {
				t.Errorf("%s: %+v", got.Status, got.Reason)
			}
			if n := s.requests.Load(); n != tt.tries {
				t.Errorf("%d requests, want %d", n, tt.tries)
			}
			if string(p.of("data/in")) != "before" {
				t.Errorf("the file is %q", p.of("data/in"))
			}
			for where, text := range map[string]string{"the reason": fmt.Sprint(*got.Reason), "the log": log.String()} {
				if strings.Contains(text, "canary") || strings.Contains(text, s.URL) {
					t.Errorf("%s holds the URL: %s", where, text)
				}
			}
			broken.Store(false)
			if err := m.Start(p, ref, uploadOf(s, []byte("bytes"))); err != nil {
				t.Fatal(err)
			}
			if again := ended(t, m, moveID); again.Status != berth.TransferDone || string(p.of("data/in")) != "bytes" {
				t.Errorf("started again: %+v, %+v", again, again.Reason)
			}
		})
	}
}

func TestADownloadOfWhatIsNotThereOrIsAnotherLeavesNothing(t *testing.T) {
	t.Parallel()
	s, p := newStore(t, nil), &files{content: map[string][]byte{"a": []byte("bytes")}}
	m := newMover(t, s, io.Discard)
	for id, tt := range map[string]struct {
		move berth.Move
		code berth.Code
	}{
		"01drz3ndektsv4rrffq69g5fav": {berth.Move{Path: "none"}, berth.CodeNotFound},
		"01erz3ndektsv4rrffq69g5fav": {berth.Move{Path: "a", Size: 6}, berth.CodeConflict},
		"01frz3ndektsv4rrffq69g5fav": {berth.Move{Path: "a", SHA256: sum([]byte("other"))}, berth.CodeInvalid},
	} {
		move := tt.move
		move.ID, move.Direction, move.URL = id, berth.TransferDownload, s.URL+"/out"
		if err := m.Start(p, ref, move); err != nil {
			t.Fatal(err)
		}
		if got := ended(t, m, id); got.Status != berth.TransferFailed || got.Reason.Code != string(tt.code) {
			t.Errorf("%+v: %+v, %+v", tt.move, got, got.Reason)
		}
	}
	if s.get("/out") != nil {
		t.Errorf("the store has %q", s.get("/out"))
	}
}

func TestWhatCannotBeMovedIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	m := newMover(t, s, io.Discard)
	good := uploadOf(s, []byte("bytes"))
	for name, spoil := range map[string]func(*berth.Move){
		"id":                    func(v *berth.Move) { v.ID = "../x" },
		"direction":             func(v *berth.Move) { v.Direction = "sideways" },
		"path":                  func(v *berth.Move) { v.Path = "" },
		"size":                  func(v *berth.Move) { v.Size = berth.MaxMoveBytes + 1 },
		"size ":                 func(v *berth.Move) { v.Size = -1 },
		"sha256":                func(v *berth.Move) { v.SHA256 = "" },
		"mode":                  func(v *berth.Move) { v.Mode = 0o4755 },
		"url":                   func(v *berth.Move) { v.URL = "http://10.0.0.1/in" },
		"url of another scheme": func(v *berth.Move) { v.URL = "file:///etc/passwd" },
		"url that is none":      func(v *berth.Move) { v.URL = "https://" },
		"url with a password":   func(v *berth.Move) { v.URL = "https://a:b@example.com/" },
		"url of the metadata":   func(v *berth.Move) { v.URL = "http://169.254.169.254/latest" },
		"url of a like machine": func(v *berth.Move) { v.URL = "http://127.0.0.1.example.com/" },
	} {
		bad := good
		spoil(&bad)
		err := m.Start(&files{}, ref, bad)
		if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), strings.Fields(name)[0]) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.requests.Load() != 0 {
		t.Errorf("%d requests were sent", s.requests.Load())
	}
}

func TestMovesBeyondWhatIsKeptAreRefusedWhileAllMoveAndForgottenWhenTheyHaveEnded(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := newStore(t, func(int64, http.ResponseWriter, *http.Request) bool { <-gate; return false })
	s.put("/in", []byte("bytes"))
	p, m := &files{content: map[string][]byte{}}, newMover(t, s, io.Discard)
	id := func(n int) string { return fmt.Sprintf("01grz3ndektsv4rrffq69g%04d", n) }
	for n := range 257 {
		move := uploadOf(s, []byte("bytes"))
		move.ID = id(n)
		err := m.Start(p, ref, move)
		if want := map[bool]berth.Code{true: berth.CodeRateLimited}[n == 256]; berth.CodeOf(err) != want {
			t.Fatalf("move %d: %v", n, err)
		}
	}
	close(gate)
	for n := range 256 {
		ended(t, m, id(n))
	}
	move := uploadOf(s, []byte("bytes"))
	move.ID = id(256)
	if err := m.Start(p, ref, move); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, m, id(256)); got.Status != berth.TransferDone {
		t.Errorf("%+v", got)
	}
}

func TestTheEndOfTheAgentBreaksMovesOff(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 1)
	s := newStore(t, func(_ int64, _ http.ResponseWriter, r *http.Request) bool {
		begun <- struct{}{}
		<-r.Context().Done()
		return true
	})
	p, m := &files{content: map[string][]byte{}}, newMover(t, s, io.Discard)
	if err := m.Start(p, ref, uploadOf(s, []byte("bytes"))); err != nil {
		t.Fatal(err)
	}
	<-begun
	m.Close()
	if got := ended(t, m, moveID); got.Reason == nil || !strings.Contains(got.Reason.Message, "the host agent ended") || p.of("data/in") != nil {
		t.Errorf("%+v, %+v", got, got.Reason)
	}
	if err := m.Start(p, ref, uploadOf(s, []byte("bytes"))); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Start after the end: %v", err)
	}
}

// sink takes a large file without keeping it.
type sink struct {
	berth.Provider
}

func (sink) Kind() berth.ProviderKind { return berth.ProviderDocker }

func (sink) WriteFile(_ context.Context, _ berth.SandboxRef, path string, r io.Reader, size int64, mode uint32, _ string) (berth.FileInfo, error) {
	n, err := io.Copy(io.Discard, r)
	return berth.FileInfo{Path: path, Size: n, Mode: mode}, err
}

func TestALargeFileTakesLittleMemory(t *testing.T) {
	const size = 300 << 20
	piece := make([]byte, 1<<20)
	h := sha256.New()
	for range size / len(piece) {
		h.Write(piece)
	}
	s := newStore(t, func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		for range size / len(piece) {
			_, _ = w.Write(piece)
		}
		return true
	})
	m := newMover(t, s, io.Discard)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	move := uploadOf(s, nil)
	move.Size, move.SHA256 = size, hex.EncodeToString(h.Sum(nil))
	if err := m.Start(sink{}, ref, move); err != nil {
		t.Fatal(err)
	}
	got := ended(t, m, moveID)
	runtime.ReadMemStats(&after)
	if got.Status != berth.TransferDone || got.Moved != size {
		t.Fatalf("%+v, %+v", got, got.Reason)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("%d MiB were allocated on the way", grown>>20)
	}
}

// lockedBuffer is a log that is written while a test goes on.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
