//go:build linux

package workspace

import (
	"hash/maphash"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
)

// sum tells a content from others within this process. Under a seed that nobody
// knows 64 bits do; crypto/sha256 has all of FIPS 140 come into the guest with it.
type sum uint64

// guard remembers the content of each file as each name last knew it.
type guard struct {
	seed maphash.Seed

	mu    sync.Mutex // guards all below
	read  map[string]map[string]mark
	count int
}

// mark is what a name knows of a file. The state spares the next read of the
// same file to hash it again; it never decides that a file is unchanged.
type mark struct {
	content sum
	state   fileState
}

// fileState changes with a file's content, but for changes within one tick of
// the file system's clock.
type fileState struct {
	inode        uint64
	size         int64
	mtime, ctime syscall.Timespec
}

// stateOf is empty when the file cannot be looked at.
func stateOf(file *os.File) fileState {
	var s syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &s); err != nil {
		return fileState{}
	}
	return fileState{s.Ino, s.Size, s.Mtim, s.Ctim}
}

// knows reports whether name has read the file in this state.
func (g *guard) knows(name, rel string, state fileState) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, read := g.read[name][rel]
	return read && state != fileState{} && m.state == state
}

// maxMarks bounds the memory. Forgetting is safe: a file has to be read again.
const maxMarks = 100_000

func (g *guard) mark(name, rel string, content sum, state fileState) {
	if name == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count >= maxMarks {
		clear(g.read)
		g.count = 0
	}
	files := g.read[name]
	if files == nil {
		files = map[string]mark{}
		g.read[name] = files
	}
	if _, known := files[rel]; !known {
		g.count++
	}
	files[rel] = mark{content, state}
}

// check returns conflict unless the file at p is new, or as name knows it.
func (g *guard) check(name string, p place) error {
	if name == "" {
		return nil
	}
	file, err := openRegular(p)
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound:
		return nil
	case err != nil:
		return err
	}
	defer file.Close()
	content, err := g.sumOf(file)
	if err != nil {
		return pathError(p.rel, err)
	}
	g.mu.Lock()
	known, read := g.read[name][p.rel]
	g.mu.Unlock()
	switch {
	case !read:
		return berth.FieldErrorf(berth.CodeConflict, "guard", "%s exists and %s has not read it", quote(p.rel), name)
	case known.content != content:
		return berth.FieldErrorf(berth.CodeConflict, "guard", "%s has changed since %s read it", quote(p.rel), name)
	}
	return nil
}

// hash begins a sum of what is written to it.
func (g *guard) hash() *maphash.Hash {
	h := &maphash.Hash{}
	h.SetSeed(g.seed)
	return h
}

// sumOf is the sum of a whole file.
func (g *guard) sumOf(file *os.File) (sum, error) {
	h := g.hash()
	_, err := io.Copy(h, io.NewSectionReader(file, 0, 1<<62))
	return sum(h.Sum64()), err
}
