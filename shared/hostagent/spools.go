//go:build linux

package hostagent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/spool"
)

// spools is the folder of a sandbox's spools. Finished commands are answered
// from it with the guest gone.
type spools struct {
	dir string

	mu      sync.Mutex // guards entries
	entries map[berth.CommandID]*entry
}

// entry is what is kept in memory about one spool. It can be made anew from the
// file at any time, but for cap.
type entry struct {
	mu    sync.Mutex // guards index
	index spool.Index

	users int           // guarded by spools.mu, as are the next two
	grown chan struct{} // closed when the spool has grown
	cap   int64         // most output that the guest may write
}

// maxEntries bounds the memory of a sandbox that has had many commands.
const maxEntries = 256

func newSpools(dir string) *spools {
	return &spools{dir: dir, entries: map[berth.CommandID]*entry{}}
}

func (s *spools) path(id berth.CommandID) string { return filepath.Join(s.dir, string(id)) }

// open opens the spool for the guest to append, and makes it when it is not there.
func (s *spools) open(id berth.CommandID) (*os.File, error) {
	if _, err := berth.ParseCommandID(string(id)); err != nil {
		return nil, err // it is a file name
	}
	f, err := os.OpenFile(s.path(id), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, DiskError("opening a spool", err)
	}
	return f, nil
}

// use takes the entry of id until release is called.
func (s *spools) use(id berth.CommandID) (e *entry, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e = s.entries[id]
	if e == nil {
		if len(s.entries) >= maxEntries {
			s.evict()
		}
		e = &entry{grown: make(chan struct{}), cap: berth.DefaultOutputCap}
		s.entries[id] = e
	}
	e.users++
	return e, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		e.users--
	}
}

func (s *spools) evict() {
	for id, e := range s.entries {
		if e.users == 0 {
			delete(s.entries, id)
		}
	}
}

// watch returns a channel that is closed when the spool grows from now on.
func (s *spools) watch(e *entry) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.grown
}

// look wakes those who wait for id.
func (s *spools) look(id berth.CommandID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[id]; e != nil {
		close(e.grown)
		e.grown = make(chan struct{})
	}
}

// lookAll wakes everybody.
func (s *spools) lookAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		close(e.grown)
		e.grown = make(chan struct{})
	}
}

// overhead is what a spool may take beyond its cap before its guest counts as
// out of hand. Frames of one byte take six.
const overhead = 1 << 20

// oversize reports whether more than the cap was written.
func (s *spools) oversize(id berth.CommandID) bool {
	info, err := os.Stat(s.path(id))
	if err != nil {
		return false
	}
	e, release := s.use(id)
	defer release()
	s.mu.Lock()
	limit := e.cap
	s.mu.Unlock()
	switch {
	case info.Size() <= limit+overhead:
		return false
	case info.Size() > 6*limit+overhead:
		return true
	}
	f, err := os.Open(s.path(id))
	if err != nil {
		return false
	}
	defer f.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.index.Extend(f, info.Size()) != nil || e.index.Kept() > limit+overhead
}

// summary is what the spool says; not_found when nothing has been written.
func (s *spools) summary(id berth.CommandID) (spool.Summary, error) {
	e, release := s.use(id)
	defer release()
	f, err := s.extend(e, id)
	if err != nil {
		return spool.Summary{}, err
	}
	defer f.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	return spool.Summary{Start: e.index.Start(), Exit: e.index.Exit()}, nil
}

// extend opens the spool and takes in what is new.
func (s *spools) extend(e *entry, id berth.CommandID) (*os.File, error) {
	if _, err := berth.ParseCommandID(string(id)); err != nil {
		return nil, errNoCommand
	}
	f, err := os.Open(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoCommand
	}
	if err != nil {
		return nil, fmt.Errorf("opening a spool: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		e.mu.Lock()
		err = e.index.Extend(f, info.Size())
		empty := e.index.End() == 0
		e.mu.Unlock()
		if err == nil && empty {
			err = errNoCommand
		}
	}
	if err != nil {
		f.Close()
		return nil, berth.Wrap(err, "reading a spool")
	}
	return f, nil
}

var errNoCommand = berth.Errorf(berth.CodeNotFound, "the command does not exist")

// read returns whole frames from offset, and what the spool says.
func (s *spools) read(e *entry, id berth.CommandID, offset int64, limit int) (berth.Output, spool.Summary, error) {
	f, err := s.extend(e, id)
	if err != nil {
		return berth.Output{}, spool.Summary{}, err
	}
	defer f.Close()
	e.mu.Lock()
	err = e.index.CheckEdge(f, offset)
	end, said := e.index.End(), spool.Summary{Start: e.index.Start(), Exit: e.index.Exit()}
	e.mu.Unlock()
	if err != nil {
		return berth.Output{}, said, err
	}
	out := berth.Output{Next: offset}
	if offset < end {
		out.Bytes, err = spool.ReadWhole(io.NewSectionReader(f, 0, end), offset, int(min(int64(limit), end-offset)))
		if err != nil {
			return out, said, berth.Wrap(err, "reading a spool")
		}
		out.Next += int64(len(out.Bytes))
	}
	if said.Exit != nil && out.Next == end {
		exit := *said.Exit
		out.Ended, out.Exit = true, &exit
	}
	return out, said, nil
}
