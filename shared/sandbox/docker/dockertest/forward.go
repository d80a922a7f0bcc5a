package dockertest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// forward hands connections on to a Unix socket until the test ends, and returns
// the TCP address that it takes them at. An engine in a network of its own can be
// reached by TCP in no other way; in the tests' network it would take down the
// bridge of the engine that is there.
func forward(t testing.TB, socket string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return // the test has ended
			}
			go pass(near.(*net.TCPConn), socket)
		}
	}()
	return l.Addr().String()
}

// pass copies both ways, and hands on when one side has said all.
func pass(near *net.TCPConn, socket string) {
	defer near.Close()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	far := conn.(*net.UnixConn)
	defer far.Close()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(far, near); _ = far.CloseWrite() })
	both.Go(func() { _, _ = io.Copy(near, far); _ = near.CloseWrite() })
	both.Wait()
}
