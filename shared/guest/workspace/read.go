//go:build linux

package workspace

import (
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"sort"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
)

// EntriesPerRead is the most that one read of a folder lists; offset counts
// entries there.
const EntriesPerRead = 1000

// Read returns at most limit bytes of the file from offset; a limit that is not
// positive is berth.MaxOutputRead. A read of any part lets guard replace the
// file, as long as its whole content stays as it was then. Errors: invalid,
// not_found.
func (w *Workspace) Read(path string, offset, limit int64, guard string) (berth.FileData, error) {
	if offset < 0 {
		return berth.FileData{}, berth.FieldErrorf(berth.CodeInvalid, "offset", "must not be negative")
	}
	p, err := w.locate(path, true)
	if err != nil {
		return berth.FileData{}, err
	}
	defer p.close()
	info, err := p.root.Lstat(p.rel)
	if err != nil {
		return berth.FileData{}, pathError(path, err)
	}
	if info.IsDir() {
		return list(p, infoOf(p.rel, info), offset)
	}
	file, err := openRegular(p)
	if err != nil {
		return berth.FileData{}, err
	}
	defer file.Close()
	if limit <= 0 || limit > berth.MaxOutputRead {
		limit = berth.MaxOutputRead
	}
	data, err := w.readMarked(file, p.rel, offset, limit, guard)
	if err != nil {
		return berth.FileData{}, pathError(path, err)
	}
	if info, err = file.Stat(); err != nil {
		return berth.FileData{}, pathError(path, err)
	}
	next := offset + int64(len(data))
	return berth.FileData{Info: infoOf(p.rel, info), Data: data, Next: next, EOF: next >= info.Size() || int64(len(data)) < limit}, nil
}

// readMarked reads and marks what was read. A file that changes while it is
// hashed is not marked: nobody knows which content was seen.
func (w *Workspace) readMarked(file *os.File, rel string, offset, limit int64, guard string) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	before := stateOf(file)
	data := make([]byte, min(limit, max(info.Size()-offset, 0)+1))
	n, err := file.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	whole := offset == 0 && errors.Is(err, io.EOF)
	data = data[:n]
	switch {
	case guard == "" || w.guard.knows(guard, rel, before):
		return data, nil
	case whole:
		w.guard.mark(guard, rel, sum(maphash.Bytes(w.guard.seed, data)), before)
		return data, nil
	}
	content, err := w.guard.sumOf(file)
	if err != nil {
		return nil, err
	}
	if stateOf(file) == before {
		w.guard.mark(guard, rel, content, before)
	}
	return data, nil
}

// openRegular opens a file and nothing that could block or be a device.
func openRegular(p place) (*os.File, error) {
	file, err := p.root.OpenFile(p.rel, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		if errors.Is(err, syscall.ENXIO) { // a socket
			return nil, berth.FieldErrorf(berth.CodeInvalid, "path", "%s is not a regular file", quote(p.rel))
		}
		return nil, pathError(p.rel, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = berth.FieldErrorf(berth.CodeInvalid, "path", "%s is not a regular file", quote(p.rel))
	}
	if err != nil {
		file.Close()
		return nil, pathError(p.rel, err)
	}
	return file, nil
}

func list(p place, info berth.FileInfo, offset int64) (berth.FileData, error) {
	entries, err := readDir(p.root, p.rel)
	if err != nil {
		return berth.FileData{}, pathError(p.rel, err)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	data := berth.FileData{Info: info, Next: offset}
	for data.Next < int64(len(entries)) && len(data.Entries) < EntriesPerRead {
		entry := entries[data.Next]
		data.Next++
		if info, err := entry.Info(); err == nil { // else it is gone by now
			data.Entries = append(data.Entries, infoOf(join(p.rel, entry.Name()), info))
		}
	}
	data.EOF = data.Next >= int64(len(entries))
	return data, nil
}

func readDir(root *os.Root, rel string) ([]fs.DirEntry, error) {
	dir, err := root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.ReadDir(-1)
}

// join is filepath.Join of a clean folder and a name.
func join(rel, name string) string {
	if rel == "." {
		return name
	}
	return rel + "/" + name
}
