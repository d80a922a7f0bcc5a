//go:build linux

package guest

import (
	"os"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// inputRoom is how much of standard input is held for a command that does not
// read; inputWait is how long a write waits for room.
const (
	inputRoom = 256 << 10
	inputWait = time.Second
)

// input feeds a command's standard input. Pieces carry their offset, so that one
// that is sent twice is taken once.
type input struct {
	pipe *os.File

	mu       sync.Mutex // guards all below
	changed  *sync.Cond
	accepted int64
	held     []byte
	eof      bool
	closed   bool // nobody reads any more; what comes is dropped, as a shell's pipe does
}

func newInput(pipe *os.File) *input {
	i := &input{pipe: pipe}
	i.changed = sync.NewCond(&i.mu)
	return i
}

// write takes what there is room for and returns the new offset. Errors:
// conflict for a gap and for bytes behind the end.
func (i *input) write(offset int64, data []byte, eof bool) (int64, error) {
	timeUp := false
	timer := time.AfterFunc(inputWait, func() {
		i.mu.Lock()
		timeUp = true
		i.mu.Unlock()
		i.changed.Broadcast()
	})
	defer timer.Stop()
	i.mu.Lock()
	defer i.mu.Unlock()
	if offset < 0 || offset > i.accepted {
		return i.accepted, berth.FieldErrorf(berth.CodeConflict, "offset", "is %d and input has come up to %d", offset, i.accepted)
	}
	for {
		data, offset = data[min(i.accepted-offset, int64(len(data))):], i.accepted
		if len(data) > 0 && i.eof {
			return i.accepted, berth.FieldErrorf(berth.CodeConflict, "offset", "lies behind the end of input at %d", i.accepted)
		}
		room := inputRoom - len(i.held)
		if i.closed {
			room = len(data)
		}
		n := min(room, len(data))
		if !i.closed {
			i.held = append(i.held, data[:n]...)
		}
		i.accepted += int64(n)
		i.eof = i.eof || eof && n == len(data)
		i.changed.Broadcast()
		if n == len(data) || timeUp {
			return i.accepted, nil
		}
		i.changed.Wait()
	}
}

// run writes to the pipe until the end of input or of the reader. A nil input
// has nothing to write.
func (i *input) run() {
	if i == nil {
		return
	}
	defer i.close()
	for {
		i.mu.Lock()
		for len(i.held) == 0 && !i.eof && !i.closed {
			i.changed.Wait()
		}
		data := i.held
		over := i.closed || len(data) == 0
		i.mu.Unlock()
		if over {
			return
		}
		n, err := i.pipe.Write(data)
		i.mu.Lock()
		i.held = append(i.held[:0:0], i.held[min(n, len(i.held)):]...)
		i.mu.Unlock()
		i.changed.Broadcast()
		if err != nil {
			return
		}
	}
}

// close ends standard input for good.
func (i *input) close() {
	i.mu.Lock()
	i.closed, i.held = true, nil
	i.mu.Unlock()
	i.changed.Broadcast()
	i.pipe.Close()
}
