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
	want := volumeHash()
	onEverySite(t, func(t *testing.T, s *site) {
		created := s.begin(volumeScript)
		stage := commandStage(t, created)
		guests := watchGuests(s)
		for _, reader := range []string{"first", "late"} {
			h := sha256.New()
			if _, err := s.FollowLogs(t.Context(), created.ID, stage, 0, hashed(h)); err != nil {
				t.Fatalf("%s reader: %v", reader, err)
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != want {
				t.Errorf("the %s reader's hash is %s, want %s", reader, got, want)
			}
			s.succeed(created.ID)
		}
		if peak := statusBytes(t, s.cmd.Process.Pid, "VmHWM"); peak > residentCap {
			t.Errorf("the server had %d MiB resident, the cap is %d", peak>>20, residentCap>>20)
		}
		peak, seen := guests()
		if seen == 0 {
			t.Error("no guest was seen")
		}
		if peak > residentCap {
			t.Errorf("the guest had %d MiB resident, the cap is %d", peak>>20, residentCap>>20)
		}
	})
}

func TestAReaderThatReconnectsEverySecondMissesNothing(t *testing.T) {
	want := volumeHash()
	onEverySite(t, func(t *testing.T, s *site) {
		created := s.begin(volumeScript)
		stage := commandStage(t, created)
		h, offset, ended := sha256.New(), int64(0), false
		take := hashed(h)
		for range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			exit, err := s.FollowLogs(ctx, created.ID, stage, offset, func(reply berth.OutputReply) error {
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
		if got := hex.EncodeToString(h.Sum(nil)); got != want {
			t.Errorf("the hash is %s, want %s", got, want)
		}
		s.succeed(created.ID)
	})
}

// watchGuests looks at the resident set of the site's guests until the function
// that it returns is called.
func watchGuests(s *site) (stop func() (peak int64, seen int)) {
	quit, done := make(chan struct{}), make(chan struct{})
	var peak int64
	var seen int
	go func() {
		defer close(done)
		for {
			for _, pid := range s.guests() {
				if b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status")); err == nil {
					seen++
					peak = max(peak, fieldBytes(string(b), "VmHWM"))
				}
			}
			select {
			case <-quit:
				return
			case <-time.After(50 * time.Millisecond):
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
