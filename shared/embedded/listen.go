package embedded

import (
	"fmt"
	"net"
)

// urlOf is how a client on this machine reaches l.
func urlOf(l net.Listener) string {
	addr := l.Addr().(*net.TCPAddr) // net.Listen("tcp", …) gives no other
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", addr.Port)
	}
	return "http://" + addr.String()
}
