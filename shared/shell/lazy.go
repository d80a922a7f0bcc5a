package shell

import (
	"context"
	"io"
	"sync"

	"github.com/berth-dev/berth/shared/relay"
)

// Closer is a shell with a connection.
type Closer interface {
	relay.Shell
	io.Closer
}

// Lazy is a shell that is made when it is used first. What fails is tried again
// by the next use.
type Lazy struct {
	// Make makes the shell: it reads the key, for instance.
	Make func(ctx context.Context) (Closer, error)

	mu   sync.Mutex // guards made
	made Closer
}

func (l *Lazy) shell(ctx context.Context) (Closer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		made, err := l.Make(ctx)
		if err != nil {
			return nil, err
		}
		l.made = made
	}
	return l.made, nil
}

// Run runs line to its end.
func (l *Lazy) Run(ctx context.Context, line string, stdin io.Reader) ([]byte, error) {
	sh, err := l.shell(ctx)
	if err != nil {
		return nil, err
	}
	return sh.Run(ctx, line, stdin)
}

// Open connects a stream to line.
func (l *Lazy) Open(ctx context.Context, line string) (io.ReadWriteCloser, error) {
	sh, err := l.shell(ctx)
	if err != nil {
		return nil, err
	}
	return sh.Open(ctx, line)
}

// Close ends the connection, if there is one.
func (l *Lazy) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		return nil
	}
	return l.made.Close()
}
