package embedded_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
)

// laterClock is ahead.
type laterClock struct {
	berth.SystemClock
	ahead time.Duration
}

func (c laterClock) Now() time.Time { return c.SystemClock.Now().Add(c.ahead) }

// The copy that a server makes of a large file for a download stayed until there was
// another transfer.
func TestFilesOfTransfersThatAreOverAreRemoved(t *testing.T) {
	s := localSite(t)
	s.create("kept", map[string]any{"lifecycle": map[string]any{"preserve": true, "stop_on_terminal": false}})
	run := s.succeed(s.submit(s.request("kept", "head -c 2000000 /dev/zero > large")).ID)
	if _, err := s.Download(t.Context(), client.File{Sandbox: run.Sandbox, Path: "large"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := s.DestroySandbox(t.Context(), run.Sandbox); err != nil {
		t.Fatal(err)
	}
	s.stop()
	transfers := filepath.Join(s.dir, "blobs", "transfers")
	if entries, err := os.ReadDir(transfers); err != nil || len(entries) != 1 {
		t.Fatalf("there are %v, %v; want the download", entries, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- embedded.Run(ctx, embedded.Options{
			DataDir: s.dir, ConfigDir: s.dir + "-config", GuestPath: s.guest, Log: io.Discard,
			Docker: embedded.Docker{Off: true}, SSH: embedded.SSH{Off: true}, Clock: laterClock{ahead: 3 * time.Hour},
		})
	}()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if entries, err := os.ReadDir(transfers); os.IsNotExist(err) || (err == nil && len(entries) == 0) {
			break
		}
		if time.Now().After(deadline) {
			t.Error("the file is left")
			break
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
