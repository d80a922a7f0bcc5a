package terminal

import (
	"os"
	"sync"

	"golang.org/x/term"
)

// Raw hands every key of a terminal on as it is typed, Ctrl-C too, until restore
// is called, which may be done more than once.
func Raw(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return func() {}, err
	}
	return sync.OnceFunc(func() { _ = term.Restore(fd, before) }), nil // nothing else could be done
}

// Size is how many characters a terminal shows; zeros when that is not known.
func Size(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}
