//go:build linux

package docker

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/relay"
)

const (
	pauseMin = 50 * time.Millisecond
	pauseMax = 2 * time.Second
	// endKnown is how long it may take to learn that a container has ended that
	// cannot be attached to.
	endKnown = 5 * time.Second
)

// dial connects to the guest of a sandbox over the standard streams of process 1.
// Errors: conflict when it does not run; unavailable.
func (p *Provider) dial(ctx context.Context, ref berth.SandboxRef, _ bool) (io.ReadWriteCloser, error) {
	b, err := p.find(ref.ID)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	guest, start, name := b.guest, b.meta.SandboxStart, b.meta.Container
	b.mu.Unlock()
	if guest == nil {
		return nil, errNotRunning
	}
	// An engine may let one attach to a container that is ending, and say nothing
	// more then.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-guest.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	var conn client.HijackedResponse
	err = p.engine.call(ctx, "attaching to container "+name, func(ctx context.Context) error {
		made, err := p.engine.api.ContainerAttach(ctx, name, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
		conn = made.HijackedResponse
		return err
	})
	if err == nil {
		var stream io.ReadWriteCloser
		if stream, err = relay.Attach(ctx, attachedStreams(conn), start); err == nil {
			return stream, nil
		}
	}
	if b.waitFor(ctx, guest.ended, endKnown) {
		return nil, errNotRunning
	}
	if code := berth.CodeOf(err); code == berth.CodeConflict || code == berth.CodeNotFound || code == berth.CodeInternal {
		// The engine may not have begun, or just be ending, what it is asked for.
		err = &berth.Error{Code: berth.CodeUnavailable, Message: "the sandbox's container cannot be attached to", Cause: err}
	}
	return nil, err
}

var errNotRunning = berth.Errorf(berth.CodeConflict, "the sandbox is not running")

// streams are a process's standard input and output, as they come over one
// connection.
type streams struct {
	io.Reader
	conn client.HijackedResponse
	once sync.Once
}

func attachedStreams(conn client.HijackedResponse) *streams {
	r, w := io.Pipe()
	s := &streams{Reader: r, conn: conn}
	go func() {
		complaint := &tail{}
		_, err := stdcopy.StdCopy(w, complaint, conn.Reader)
		if err == nil && len(complaint.text) > 0 {
			err = fmt.Errorf("the guest said %q", complaint.text)
		}
		w.CloseWithError(err)
		s.Close()
	}()
	return s
}

func (s *streams) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

func (s *streams) Close() error {
	s.once.Do(func() {
		s.conn.Close()
		s.Reader.(*io.PipeReader).Close() // lets go of who copies
	})
	return nil
}

// maxComplaint bounds what is kept of a standard error, in bytes.
const maxComplaint = 2000

// tail keeps the end of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxComplaint):]
	return len(p), nil
}
