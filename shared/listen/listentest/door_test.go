package listentest_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/berth-dev/berth/shared/listen/listentest"
)

// said is what who answers at an address says: nothing when it hangs up.
func said(t *testing.T, address string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text, _ := io.ReadAll(conn) // a reset is a way to hang up
	return string(text)
}

func TestAPortIsHeldWhileNobodyServes(t *testing.T) {
	t.Parallel()
	d := listentest.Open(t)
	for _, name := range []string{"the first", "the next"} {
		if got := said(t, d.Address()); got != "" {
			t.Errorf("nobody says %q", got)
		}
		if l, err := net.Listen("tcp", d.Address()); err == nil {
			l.Close()
			t.Error("somebody else has the port")
		}
		l := d.Enter()
		over := make(chan error, 1)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					over <- err
					return
				}
				_, _ = io.WriteString(conn, name)
				conn.Close()
			}
		}()
		if got := said(t, d.Address()); got != name {
			t.Errorf("%s says %q", name, got)
		}
		l.Close()
		if err := <-over; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
	}
}

func TestAnAddressIsFree(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", listentest.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
