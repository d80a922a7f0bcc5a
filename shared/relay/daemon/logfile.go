//go:build linux

package daemon

import (
	"bytes"
	"io"
	"os"
	"sync"
)

const (
	// maxLog is the most that a daemon's log may have, in bytes, and keptLog what is
	// left of its end when it is cut.
	maxLog  = 1 << 20
	keptLog = maxLog / 4
)

// logFile is a log in a sandbox of which nobody empties the disk. It is cut when it
// has grown too long: what a daemon said last is kept, behind a mark.
type logFile struct {
	path string
	out  *os.File // opened to append to path, or to something else

	mu sync.Mutex // one writer at a time
}

// newLogFile cuts what daemons that came to nothing, one after the other, have said
// besides.
func newLogFile(path string, out *os.File) *logFile {
	l := &logFile{path: path, out: out}
	l.cut(0)
	return l
}

// Write writes a line.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut(int64(len(line)))
	return l.out.Write(line)
}

// cut makes room for more bytes. Whatever is in its way is no reason not to write.
func (l *logFile) cut(more int64) {
	stat, err := l.out.Stat()
	if err != nil || stat.Size()+more <= maxLog {
		return
	}
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if same, err := f.Stat(); err != nil || !os.SameFile(stat, same) {
		return
	}
	end := make([]byte, keptLog)
	n, err := f.ReadAt(end, max(0, stat.Size()-keptLog))
	if err != nil && err != io.EOF {
		return
	}
	_, end, _ = bytes.Cut(end[:n], []byte("\n")) // it begins in the middle of a line
	if f.Truncate(0) != nil {
		return
	}
	lineLogger{f}.Warn("the log grew too long: earlier lines are not kept")
	_, _ = f.Write(end)
}
