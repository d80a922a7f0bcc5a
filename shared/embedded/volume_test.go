package embedded_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

const (
	volume      = 100 << 20
	residentCap = 64 << 20
	// volumeScript prints 100 MiB that differ from line to line.
	volumeScript = `awk 'BEGIN { for (i = 0; i < 1638400; i++) printf "%063d\n", i }'`
)

func volumeHash() string {
	h := sha256.New()
	for i := range volume / 64 {
		fmt.Fprintf(h, "%063d\n", i)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashed takes a stage's stdout into a hash.
func hashed(h hash.Hash) func(berth.OutputReply) error {
	return func(reply berth.OutputReply) error {
		for _, f := range reply.Frames {
			if f.Stream != berth.Stdout {
				return fmt.Errorf("unexpected %s: %s", f.Stream, f.Data)
			}
			h.Write(f.Data)
		}
		return nil
	}
}

func TestAHundredMegabytesArriveWholeInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 100 MB a few times")
	}
	server := startProcess(t, filepath.Join(t.TempDir(), "data"), sandboxtest.BuildGuest(t))
	created, err := server.CreateRun(t.Context(), berth.RunRequest{Environment: "local", Script: volumeScript, SourceDirectory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	stage := commandStage(t, created)
	guests := watchGuests(t, server)
	want := volumeHash()

	first := sha256.New()
	if _, err := server.FollowLogs(t.Context(), created.ID, stage, 0, hashed(first)); err != nil {
		t.Fatalf("first reader: %v", err)
	}
	if got := hex.EncodeToString(first.Sum(nil)); got != want {
		t.Errorf("the first reader's hash is %s, want %s", got, want)
	}
	if run := server.awaitRun(created.ID); run.Status != berth.RunSucceeded {
		t.Fatalf("run is %s: %+v", run.Status, run.Reason)
	}

	late := sha256.New()
	if _, err := server.FollowLogs(t.Context(), created.ID, stage, 0, hashed(late)); err != nil {
		t.Fatalf("late reader: %v", err)
	}
	if got := hex.EncodeToString(late.Sum(nil)); got != want {
		t.Errorf("the late reader's hash is %s, want %s", got, want)
	}
	if peak := statusBytes(t, server.cmd.Process.Pid, "VmHWM"); peak > residentCap {
		t.Errorf("the server had %d MiB resident, the cap is %d", peak>>20, residentCap>>20)
	}
	peak, seen := guests()
	if seen == 0 {
		t.Error("no guest was seen")
	}
	if peak > residentCap {
		t.Errorf("the guest had %d MiB resident, the cap is %d", peak>>20, residentCap>>20)
	}
}

func TestAReaderThatReconnectsEverySecondMissesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 100 MB")
	}
	server := startProcess(t, filepath.Join(t.TempDir(), "data"), sandboxtest.BuildGuest(t))
	created, err := server.CreateRun(t.Context(), berth.RunRequest{Environment: "local", Script: volumeScript, SourceDirectory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	stage := commandStage(t, created)
	h, offset, ended := sha256.New(), int64(0), false
	take := hashed(h)
	for range 60 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		exit, err := server.FollowLogs(ctx, created.ID, stage, offset, func(reply berth.OutputReply) error {
			offset = reply.NextOffset
			return take(reply)
		})
		cancel()
		if err == nil {
			ended = exit != nil && exit.Succeeded()
			break
		}
		if ctx.Err() == nil {
			t.Fatalf("at offset %d: %v", offset, err)
		}
	}
	if !ended {
		t.Fatal("the log did not end with the command's success")
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != volumeHash() {
		t.Errorf("the hash is %s, want %s", got, volumeHash())
	}
}

// watchGuests looks at the resident set of the server's guests until the
// function that it returns is called.
func watchGuests(t *testing.T, server *process) (stop func() (peak int64, seen int)) {
	t.Helper()
	quit, done := make(chan struct{}), make(chan struct{})
	var peak int64
	var seen int
	go func() {
		defer close(done)
		for {
			for _, pid := range processesOf(server.guest) {
				if b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status")); err == nil {
					seen++
					peak = max(peak, fieldBytes(string(b), "VmHWM"))
				}
			}
			select {
			case <-quit:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() (int64, int) { close(quit); <-done; return peak, seen }
}

func fieldBytes(status, field string) int64 {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err == nil {
				return kib * 1024
			}
		}
	}
	return 0
}

// processesOf lists the processes that run an executable.
func processesOf(executable string) []int {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil
	}
	var pids []int
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || target != executable {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
