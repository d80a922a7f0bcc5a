//go:build linux

package hostagent

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// OpenStream opens a stream into the sandbox, as berth.Streamer says. It is a
// socket of which the guest has the other end: it lasts for as long as both, and
// needs the link no more.
func (s *Sandbox) OpenStream(ctx context.Context, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	l, err := s.guest()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, berth.Wrap(err, "making a stream")
	}
	defer theirs.Close()
	op, params := wire.OpPort, any(wire.Port{Port: spec.Port})
	if spec.Kind == berth.StreamShell {
		p := wire.Shell{Terminal: spec.Terminal, Window: spec.Window}
		for _, name := range sortedNames(spec.Env) {
			p.Env = append(p.Env, wire.Variable{Name: wire.Text(name), Value: wire.Text(spec.Env[name])})
		}
		for _, value := range spec.Mask {
			p.Mask = append(p.Mask, wire.Text(value.Reveal()))
		}
		op, params = wire.OpShell, p
	}
	if _, err := l.call(ctx, op, params, nil, theirs); err != nil {
		ours.Close() // a shell that has begun meanwhile is hung up
		return nil, err
	}
	return ours, nil
}

// socketPair makes both ends of a stream: ours to read and write, theirs to pass on.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	file := os.NewFile(uintptr(pair[0]), "stream")
	theirs = os.NewFile(uintptr(pair[1]), "stream")
	defer file.Close()
	if ours, err = net.FileConn(file); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// OpenStream opens a stream into a sandbox.
func (p Sandboxes) OpenStream(ctx context.Context, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	a, err := p.Find(ref)
	if err != nil {
		return nil, err
	}
	return a.OpenStream(ctx, spec)
}

var _ berth.Streamer = Sandboxes{}
