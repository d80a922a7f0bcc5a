//go:build linux

package workspace

import (
	"crypto/sha256"
	"io"
	"os"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

type sum = [sha256.Size]byte

// guard remembers the content of each file as each name last knew it.
type guard struct {
	mu    sync.Mutex // guards all below
	read  map[string]map[string]sum
	count int
}

// maxMarks bounds the memory. Forgetting is safe: a file has to be read again.
const maxMarks = 100_000

func (g *guard) mark(name, rel string, content sum) {
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
		files = map[string]sum{}
		g.read[name] = files
	}
	if _, known := files[rel]; !known {
		g.count++
	}
	files[rel] = content
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
	content, err := hashOf(file)
	if err != nil {
		return pathError(p.rel, err)
	}
	g.mu.Lock()
	known, read := g.read[name][p.rel]
	g.mu.Unlock()
	switch {
	case !read:
		return berth.FieldErrorf(berth.CodeConflict, "guard", "%s exists and %s has not read it", quote(p.rel), name)
	case known != content:
		return berth.FieldErrorf(berth.CodeConflict, "guard", "%s has changed since %s read it", quote(p.rel), name)
	}
	return nil
}

// hashOf is the hash of a whole file.
func hashOf(file *os.File) (sum, error) {
	h := sha256.New()
	_, err := io.Copy(h, io.NewSectionReader(file, 0, 1<<62))
	return sum(h.Sum(nil)), err
}
