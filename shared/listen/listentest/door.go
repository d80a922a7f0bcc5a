// Package listentest has addresses for servers that a test ends and starts again:
// nobody else gets them in between.
package listentest

import (
	"net"
	"sync"
	"testing"
)

// Door holds a port of this process until the test's end. Who calls while nobody
// serves is hung up on.
type Door struct {
	listener net.Listener

	mu      sync.Mutex // guards present
	present *keeper
}

// Open takes a port of the loopback address.
func Open(t testing.TB) *Door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &Door{listener: l}
	var answering sync.WaitGroup
	answering.Go(d.answer)
	t.Cleanup(func() { l.Close(); answering.Wait() })
	return d
}

// Address is the host and the port.
func (d *Door) Address() string { return d.listener.Addr().String() }

func (d *Door) answer() {
	for {
		conn, err := d.listener.Accept()
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
}

// Enter makes the listener of one who serves. Its Close leaves the port held.
func (d *Door) Enter() net.Listener {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.present = &keeper{door: d, calls: make(chan net.Conn), closed: make(chan struct{})}
	return d.present
}

// keeper is the listener of who serves now.
type keeper struct {
	door   *Door
	calls  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (k *keeper) Accept() (net.Conn, error) {
	select {
	case conn := <-k.calls:
		return conn, nil
	case <-k.closed:
		return nil, net.ErrClosed
	}
}

func (k *keeper) Addr() net.Addr { return k.door.listener.Addr() }

func (k *keeper) Close() error {
	k.once.Do(func() {
		close(k.closed)
		k.door.mu.Lock()
		defer k.door.mu.Unlock()
		if k.door.present == k {
			k.door.present = nil
		}
	})
	return nil
}
