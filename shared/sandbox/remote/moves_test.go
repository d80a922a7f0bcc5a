//go:build linux

package remote_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestTheAgentMovesAFileThroughTheGuestBothWays(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("\x00\xff12345\n"), 600_000)
	sum := sha256.Sum256(content)
	sent := make(chan []byte, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write(content)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent <- body
	}))
	t.Cleanup(server.Close)
	a := startLocal(t)
	a.stop()
	a.fetcher = server.Client()
	a.start(t)
	p := connect(t, a.config())
	ref := readyOn(t, p)
	ended := func(id string) berth.MoveState {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			state, err := p.DescribeMove(t.Context(), ref, id)
			if err != nil {
				t.Fatal(err)
			}
			if state.Status != berth.TransferMoving {
				return state
			}
		}
		t.Fatalf("move %s did not end", id)
		return berth.MoveState{}
	}
	up := berth.Move{
		ID: "01crz3ndektsv4rrffq69g5fav", Direction: berth.TransferUpload, Path: "deep/ü", URL: server.URL, Size: int64(len(content)),
		SHA256: hex.EncodeToString(sum[:]), Mode: 0o750,
	}
	if err := p.StartMove(t.Context(), ref, up); err != nil {
		t.Fatal(err)
	}
	if got := ended(up.ID); got.Status != berth.TransferDone || got.Size != up.Size || got.SHA256 != up.SHA256 {
		t.Fatalf("upload: %+v, %+v", got, got.Reason)
	}
	down := berth.Move{ID: "01drz3ndektsv4rrffq69g5fav", Direction: berth.TransferDownload, Path: up.Path, URL: server.URL}
	if err := p.StartMove(t.Context(), ref, down); err != nil {
		t.Fatal(err)
	}
	if got := ended(down.ID); got.Status != berth.TransferDone || got.SHA256 != up.SHA256 || got.Mode != 0o750 {
		t.Fatalf("download: %+v, %+v", got, got.Reason)
	}
	if !bytes.Equal(<-sent, content) {
		t.Error("other bytes were sent")
	}
	for id, path := range map[string]string{"01erz3ndektsv4rrffq69g5fav": "../escape", "01frz3ndektsv4rrffq69g5fav": "/etc/escape"} {
		bad := up
		bad.ID, bad.Path = id, path
		if err := p.StartMove(t.Context(), ref, bad); err != nil {
			t.Fatal(err)
		}
		if got := ended(id); got.Status != berth.TransferFailed || got.Reason.Code != string(berth.CodeInvalid) {
			t.Errorf("to %s: %+v, %+v", path, got, got.Reason)
		}
	}
	wrong := up
	wrong.ID, wrong.Path, wrong.SHA256 = "01grz3ndektsv4rrffq69g5fav", "partial", hex.EncodeToString(make([]byte, 32))
	if err := p.StartMove(t.Context(), ref, wrong); err != nil {
		t.Fatal(err)
	}
	if got := ended(wrong.ID); got.Status != berth.TransferFailed {
		t.Errorf("bytes with another hash: %+v", got)
	}
	found, err := p.Glob(t.Context(), ref, berth.GlobQuery{Pattern: "**", Limit: 100})
	if err != nil || len(found.Paths) != 1 {
		t.Errorf("the workspace has %q, %v", found.Paths, err)
	}
	if err := p.StartMove(t.Context(), berth.SandboxRef{ID: sandboxtest.NewID()}, up); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("to a sandbox that is not there: %v", err)
	}
	if _, err := p.DescribeMove(t.Context(), ref, "01hrz3ndektsv4rrffq69g5fav"); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("a move that nobody has started: %v", err)
	}
}
