//go:build linux

package guest

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/redact"
	"github.com/berth-dev/berth/shared/spool"
)

// record writes a command's spool: masked, capped, and closed by the exit.
type record struct {
	cap int64

	mu      sync.Mutex // guards all below
	writer  *spool.Writer
	file    *os.File
	streams map[spool.Type]*redact.Stream
	kept    int64 // bytes of output in the spool
	cut     bool  // the mark of the cap is written
	failed  error // the first write that the disk refused; output ends there
	closed  bool
}

func newRecord(w *spool.Writer, file *os.File, masker *redact.Masker, outputCap int64) *record {
	if outputCap <= 0 {
		outputCap = berth.DefaultOutputCap
	}
	return &record{
		cap: outputCap, writer: w, file: file,
		streams: map[spool.Type]*redact.Stream{spool.TypeStdout: masker.Stream(), spool.TypeStderr: masker.Stream()},
	}
}

// write takes output as it was read. It reports whether the spool grew.
func (r *record) write(t spool.Type, p []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.cut || r.failed != nil {
		return false
	}
	return r.keep(t, r.streams[t].Write(p))
}

func (r *record) keep(t spool.Type, p []byte) bool {
	if len(p) == 0 || r.cut || r.failed != nil {
		return false
	}
	room := min(int64(len(p)), r.cap-r.kept)
	if room > 0 {
		if r.failed = r.writer.Write(t, p[:room]); r.failed != nil {
			return false
		}
		r.kept += room
	}
	if room < int64(len(p)) {
		r.cut = true
		r.failed = r.writer.Write(spool.TypeMark, fmt.Appendf(nil, "output after %d bytes was not kept", r.cap))
	}
	return true
}

// exitRetry is the pause before the exit is written again to a full disk.
const exitRetry = time.Second

// close writes what is held back and the exit. Output that comes later goes
// nowhere. A full disk delays the exit, until there is room or quit is closed.
func (r *record) close(exit berth.Exit, quit <-chan struct{}) {
	r.mu.Lock()
	for _, t := range []spool.Type{spool.TypeStdout, spool.TypeStderr} {
		r.keep(t, r.streams[t].Flush())
	}
	r.closed = true // from here on the writer is ours alone
	r.mu.Unlock()
	if r.failed != nil && exit.Message == "" {
		exit.Message = "output was cut: " + r.failed.Error()
	}
	defer r.file.Close()
	for r.writer.WriteExit(exit) != nil {
		select {
		case <-quit:
			return
		case <-time.After(exitRetry):
		}
	}
}
