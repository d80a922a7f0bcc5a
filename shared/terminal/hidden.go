package terminal

import (
	"errors"
	"os"

	"golang.org/x/term"
)

// ErrInterrupted is the end of a prompt by a signal.
var ErrInterrupted = errors.New("interrupted")

// ReadHidden asks for a line on a terminal that does not show what is typed from
// before ask is called on: who sees the question may type at once. A signal ends it
// with [ErrInterrupted]; the terminal is left as it was found.
func ReadHidden(f *os.File, signals <-chan os.Signal, ask func()) ([]byte, error) {
	fd := int(f.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	if err := hide(fd); err != nil {
		return nil, err
	}
	ask()
	type line struct {
		text []byte
		err  error
	}
	// Not waited for after a signal: a read of a terminal cannot be called back.
	typed := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		return l.text, errors.Join(l.err, term.Restore(fd, before))
	case <-signals:
		return nil, errors.Join(ErrInterrupted, term.Restore(fd, before))
	}
}
