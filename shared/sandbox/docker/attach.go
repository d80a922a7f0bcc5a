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
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/relay"
)

const (
	pauseMin = 50 * time.Millisecond
	pauseMax = 2 * time.Second
	// endKnown is how long it may take to learn that a container has ended that
	// cannot be attached to.
	endKnown = 5 * time.Second
	// attachLimit is how long a guest may take to answer over its standard streams.
	attachLimit = 20 * time.Second
)

// dial connects to the guest of a sandbox over the standard streams of process 1.
// Errors: conflict when it does not run; unavailable.
func (p *Provider) dial(ctx context.Context, ref berth.SandboxRef, _ bool) (io.ReadWriteCloser, error) {
	return p.reach(ctx, ref, func(ctx context.Context, name, start string) (io.ReadWriteCloser, error) {
		stream, err := p.attachTo(ctx, name, start)
		if code := berth.CodeOf(err); err == nil || ctx.Err() != nil || code == berth.CodeConflict {
			return stream, err
		}
		// The engine may have lost hold of standard input, and the guest still listens.
		if stream, joinErr := p.join(ctx, name); joinErr == nil {
			return stream, nil
		}
		return nil, err
	})
}

// dialStream connects to the guest beside who is attached.
func (p *Provider) dialStream(ctx context.Context, ref berth.SandboxRef) (io.ReadWriteCloser, error) {
	return p.reach(ctx, ref, func(ctx context.Context, name, _ string) (io.ReadWriteCloser, error) { return p.join(ctx, name) })
}

// reach connects to the container of ref, and gives up when that ends.
func (p *Provider) reach(ctx context.Context, ref berth.SandboxRef, connect func(ctx context.Context, name, start string) (io.ReadWriteCloser, error)) (io.ReadWriteCloser, error) {
	b, err := p.boxes.Find(ref.ID)
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
	stream, err := connect(ctx, name, start)
	if err == nil {
		return stream, nil
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

// attachTo opens a session over the standard streams of process 1.
func (p *Provider) attachTo(ctx context.Context, name, start string) (io.ReadWriteCloser, error) {
	var conn client.HijackedResponse
	err := p.engine.call(ctx, "attaching to container "+name, func(ctx context.Context) error {
		made, err := p.engine.api.ContainerAttach(ctx, name, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
		conn = made.HijackedResponse
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, attachLimit)
	defer cancel()
	return relay.Attach(ctx, attachedStreams(conn), start)
}

// join connects by a process of its own in the container.
func (p *Provider) join(ctx context.Context, name string) (io.ReadWriteCloser, error) {
	var conn client.HijackedResponse
	err := p.engine.call(ctx, "joining container "+name, func(ctx context.Context) error {
		made, err := p.engine.api.ExecCreate(ctx, name, client.ExecCreateOptions{
			User: "0", AttachStdin: true, AttachStdout: true, AttachStderr: true,
			Cmd: []string{socketTarget + "/" + wire.ContainedGuest, "join", "-root", socketTarget},
		})
		if err != nil {
			return err
		}
		attached, err := p.engine.api.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
		conn = attached.HijackedResponse
		return err
	})
	if err != nil {
		return nil, err
	}
	return relay.Open(ctx, attachedStreams(conn), false)
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
