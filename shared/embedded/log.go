package embedded

import (
	"fmt"
	"os"
	"sync"
)

// logBytes is when a log file is put aside; one older file is kept.
const logBytes = 10 << 20

// logFile is a log that cannot fill the disk.
type logFile struct {
	path string

	mu   sync.Mutex // guards what follows
	file *os.File
	size int64
}

// OpenLog opens the log of a background server in its data folder.
func OpenLog(dataDir string) (*logFile, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, unusableDataDir(dataDir, err)
	}
	l := &logFile{path: paths{dataDir}.log()}
	return l, l.open()
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("opening the log: %w", err)
	}
	l.file, l.size = file, info.Size()
	return nil
}

func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(b)) > logBytes && l.size > 0 {
		l.file.Close()
		if err := os.Rename(l.path, l.path+".1"); err != nil {
			return 0, err
		}
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(b)
	l.size += int64(n)
	return n, err
}

// Close closes the file.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
