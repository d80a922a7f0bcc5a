// Package rotate writes logs that cannot fill the disk.
package rotate

import (
	"fmt"
	"os"
	"sync"
)

// DefaultLimit is when a log is put aside, in bytes.
const DefaultLimit = 10 << 20

// File is a log. When a write would make it longer than its limit, it is renamed
// to its name with .1, in place of an older one, and begun anew. It is safe for
// concurrent use.
type File struct {
	path  string
	limit int64

	mu   sync.Mutex // guards what follows
	file *os.File
	size int64
}

// Open opens or makes the log at path, for its owner alone. limit is in bytes.
func Open(path string, limit int64) (*File, error) {
	f := &File{path: path, limit: limit}
	return f, f.open()
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("opening the log: %w", err)
	}
	f.file, f.size = file, info.Size()
	return nil
}

// Write appends b as a whole to one file.
func (f *File) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size+int64(len(b)) > f.limit && f.size > 0 {
		if err := f.turn(); err != nil {
			return 0, err
		}
	}
	n, err := f.file.Write(b)
	f.size += int64(n)
	return n, err
}

// turn puts the file aside. One that cannot be put aside is written on: a log
// that is too long is better than none.
func (f *File) turn() error {
	old := f.file
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		f.size = 0 // to be tried again after as much more
		return nil
	}
	if err := f.open(); err != nil {
		return err
	}
	return old.Close()
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}
