package filemove

import (
	"bytes"
	"io"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
)

// pieces makes one stream of the pieces of a file.
type pieces struct {
	read func(offset int64) (berth.FileData, error)
	data *bytes.Reader
	next int64
	eof  bool

	mu  sync.Mutex // guards err, which is asked for while a transport may still read
	err error
}

func (p *pieces) Read(b []byte) (int, error) {
	for p.data.Len() == 0 {
		if p.eof {
			return 0, io.EOF
		}
		piece, err := p.read(p.next)
		if err == nil && len(piece.Data) == 0 && !piece.EOF {
			err = io.ErrNoProgress
		}
		if err != nil {
			p.mu.Lock()
			p.err = err
			p.mu.Unlock()
			return 0, err
		}
		p.data, p.next, p.eof = bytes.NewReader(piece.Data), piece.Next, piece.EOF
	}
	return p.data.Read(b)
}

// fault is why the file could not be read.
func (p *pieces) fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
