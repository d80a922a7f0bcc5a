//go:build linux

package embedded_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/listen"
)

// served is an agent's API in this process, which a test stops and starts again at
// the same address.
type served struct {
	address     string
	certificate tls.Certificate
	stop        func()

	door *door
}

// serve begins to answer; then is called once it has stopped.
func (s *served) serve(t *testing.T, handler http.Handler, then func()) {
	t.Helper()
	if s.door == nil {
		s.door = openDoor(t)
		s.address = s.door.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := s.door.enter()
	var serving sync.WaitGroup
	serving.Go(func() {
		secure := tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{s.certificate}})
		_ = listen.Serve(ctx, secure, handler, log.New(io.Discard, "", 0))
	})
	s.stop = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
		then()
	})
}

// door holds a port until the test's end. Nobody else gets it while nobody serves;
// who calls is hung up on then.
type door struct {
	net.Listener

	mu      sync.Mutex // guards present
	present *doorkeeper
}

func openDoor(t *testing.T) *door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d := &door{Listener: l}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			d.mu.Lock()
			present := d.present
			d.mu.Unlock()
			if present == nil {
				conn.Close()
				continue
			}
			select {
			case present.calls <- conn:
			case <-present.closed:
				conn.Close()
			}
		}
	}()
	return d
}

// enter makes the listener of one who serves.
func (d *door) enter() *doorkeeper {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.present = &doorkeeper{door: d, calls: make(chan net.Conn), closed: make(chan struct{})}
	return d.present
}

type doorkeeper struct {
	*door
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (k *doorkeeper) Accept() (net.Conn, error) {
	select {
	case conn := <-k.calls:
		return conn, nil
	case <-k.closed:
		return nil, net.ErrClosed
	}
}

func (k *doorkeeper) Close() error {
	k.once.Do(func() {
		close(k.closed)
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.present == k {
			k.present = nil
		}
	})
	return nil
}
