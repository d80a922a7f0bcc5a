package listen

import (
	"net"
	"sync"
)

// Limit takes no more than conns connections from l at a time. It goes below TLS:
// net/http looks at what kind of connection it is given.
func Limit(l net.Listener, conns int) net.Listener {
	return &limited{Listener: l, room: make(chan struct{}, conns), over: make(chan struct{})}
}

type limited struct {
	net.Listener
	room chan struct{}
	once sync.Once
	over chan struct{}
}

// Accept waits for room first: who comes too early waits in the system's queue.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.over:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &counted{Conn: conn, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.over) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
