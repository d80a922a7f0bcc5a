package preview

import (
	"net"
	"sync"
)

// maxConns is how many connections browsers, and whoever else finds the address, may
// have open at a time.
const maxConns = 2048

// Limit takes no more connections from l than a host can bear.
func Limit(l net.Listener) net.Listener {
	return &limited{Listener: l, room: make(chan struct{}, maxConns), over: make(chan struct{})}
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
