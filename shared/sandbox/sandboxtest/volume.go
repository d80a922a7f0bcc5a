package sandboxtest

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/spool"
)

const (
	volumeBytes = 100 << 20
	volumePeak  = 64 << 20 // resident bytes of a guest
	volumeHeap  = 48 << 20 // of the reader's process, beyond what it had
)

// testVolume passes a lot of output from a first reader, a late one, and one
// that comes back all the time.
func testVolume(t *testing.T, s *sandbox) {
	if testing.Short() {
		t.Skip("100 MB of output take some seconds; run without -short")
	}
	const script = `yes 'a line of output with é and 😀 in it' | head -c 104857600`
	want := s.must(t, script+" | sha256sum")[:64]
	id := s.start(t, berth.CommandSpec{Script: script, Mask: []berth.SecretValue{berth.NewSecretValue([]byte("line with a secret"))}})
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak uint64
	hash := func(name string, limit int, pause time.Duration) {
		h := sha256.New()
		total := 0
		for offset := int64(0); ; {
			out, err := s.Provider.ReadOutput(ctx(t), s.ref, id, offset, limit, 10*time.Second)
			if err != nil {
				t.Errorf("%s reader: %v", name, err)
				return
			}
			frames, _, err := spool.Decode(out.Bytes)
			if err != nil {
				t.Errorf("%s reader: %v", name, err)
				return
			}
			for _, f := range frames {
				h.Write(f.Data)
				total += len(f.Data)
			}
			if offset = out.Next; out.Ended {
				break
			}
			time.Sleep(pause)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != want || total != volumeBytes {
			t.Errorf("%s reader: %d bytes, hash %s; want %d, %s", name, total, got, volumeBytes, want)
		}
	}
	stop := make(chan struct{})
	var sampler, readers sync.WaitGroup
	sampler.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapInuse)
			}
		}
	})
	readers.Go(func() { hash("first", 0, 0) })
	readers.Go(func() { hash("pausing", 0, 5*time.Millisecond) })
	readers.Wait()
	hash("late", 0, 0)
	close(stop)
	sampler.Wait()
	if peak > before.HeapInuse+volumeHeap+uint64(s.FarEndBytes) {
		t.Errorf("readers took %d MiB", (peak-before.HeapInuse)>>20)
	}
	if s.GuestPeakBytes != nil {
		if peak := s.GuestPeakBytes(t, s.ref); peak > volumePeak {
			t.Errorf("the guest took %d MiB", peak>>20)
		}
	}
}
