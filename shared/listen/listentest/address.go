package listentest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// The ports below those that Linux gives to who does not care
// (net.ipv4.ip_local_port_range), and above those of known services.
const (
	lowest  = 20000
	highest = 32000
)

// Address is one of the loopback for a process that is ended and started again. No
// process holds it meanwhile, but none gets its port by chance either.
func Address(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
