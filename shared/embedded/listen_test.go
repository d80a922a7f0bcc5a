package embedded

import (
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
)

// listened opens the listener of a server that is the next one, and closes it as
// that server's end would.
func listened(t *testing.T, p paths, address string) (at, left string) {
	t.Helper()
	l, left, err := p.openListener(address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String(), left
}

// undisturbed tries until no other program of this machine has taken a port at the
// moment when nobody listened on it.
func undisturbed(t *testing.T, try func(p paths) bool) {
	t.Helper()
	for range 50 {
		if try(paths{t.TempDir()}) {
			return
		}
	}
	t.Error("other programs take every port")
}

func TestAServerIsWhereTheLastOneWas(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(p paths) bool {
		first, left := listened(t, p, DefaultListen)
		if left != "" {
			t.Errorf("the first server could not have %s", left)
		}
		for range 3 {
			again, left := listened(t, p, "127.0.0.1:")
			if left != "" {
				return false
			}
			if again != first {
				t.Errorf("the next one is at %s, want %s", again, first)
			}
		}
		return true
	})
}

func TestAServerThatWasToldItsPortLeavesItToTheNext(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(p paths) bool {
		listened(t, p, DefaultListen)
		free, err := net.Listen("tcp", DefaultListen)
		if err != nil {
			t.Fatal(err)
		}
		chosen := free.Addr().String()
		free.Close()
		l, left, err := p.openListener(chosen, slog.New(slog.DiscardHandler))
		if err != nil {
			return false
		}
		l.Close()
		if left != "" {
			t.Errorf("told to listen on %s it wants %s", chosen, left)
		}
		at, left := listened(t, p, DefaultListen)
		if left == "" && at != chosen {
			t.Errorf("the one after it is at %s, want %s", at, chosen)
		}
		return left == ""
	})
}

func TestAServerWhosePortIsTakenSaysSoAndTakesAnother(t *testing.T) {
	t.Parallel()
	undisturbed(t, func(p paths) bool {
		first, _ := listened(t, p, DefaultListen)
		other, err := net.Listen("tcp", first)
		if err != nil {
			return false
		}
		defer other.Close()
		second, left := listened(t, p, DefaultListen)
		if second == first || left != first {
			t.Errorf("it is at %s and could not have %q, want that to be %s", second, left, first)
		}
		third, left := listened(t, p, DefaultListen)
		if left == "" && third != second {
			t.Errorf("the next one is at %s, want %s", third, second)
		}
		return left == ""
	})
}

func TestWhatIsNoAddressOfTheSameHostIsNotTaken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "garbage", "127.0.0.1:0", "127.0.0.1:-1", "127.0.0.1:70000", "127.0.0.1:http", "0.0.0.0:41000", "[::1]:41000", "127.0.0.1:41000:1", strings.Repeat("1", 1<<16)} {
		p := paths{t.TempDir()}
		if err := os.WriteFile(p.address(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, left := listened(t, p, DefaultListen); left != "" {
			t.Errorf("%.40q is taken for an address: %s", text, left)
		}
		if last := p.lastAddress(DefaultListen); last == "" {
			t.Errorf("after %.40q the address is not recorded", text)
		}
	}
	if last := (paths{t.TempDir()}).lastAddress("nonsense"); last != "" {
		t.Errorf("nonsense leads to %s", last)
	}
}
