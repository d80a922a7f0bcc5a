package listen_test

import (
	"net"
	"testing"
	"testing/synctest"

	"github.com/berth-dev/berth/shared/listen"
)

func TestAListenerTakesNoMoreConnectionsThanItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := pipes{make(chan net.Conn, 4), make(chan struct{})}
		for range 4 {
			client, server := net.Pipe()
			defer client.Close()
			inner.conns <- server
		}
		l := listen.Limit(inner, 2)
		taken := make(chan net.Conn, 4)
		ended := make(chan error, 1)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					ended <- err
					return
				}
				taken <- conn
			}
		}()
		synctest.Wait()
		if len(taken) != 2 {
			t.Fatalf("%d connections are taken, want 2", len(taken))
		}
		first := <-taken
		first.Close()
		first.Close() // which frees no second place
		synctest.Wait()
		if len(taken) != 2 {
			t.Errorf("%d connections are taken after one was closed, want three in all", len(taken)+1)
		}
		l.Close()
		if err := <-ended; err == nil {
			t.Error("a full listener that is closed goes on")
		}
	})
}
