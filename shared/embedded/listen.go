package embedded

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/berth-dev/berth/shared/listen"
	"github.com/berth-dev/berth/shared/privatefile"
)

// urlOf is how a client on this machine reaches l.
func urlOf(l net.Listener) string {
	addr := l.Addr().(*net.TCPAddr) // net.Listen("tcp", …) gives no other
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", addr.Port)
	}
	return "http://" + addr.String()
}

// openListener listens on address and records where: with port 0, on the port that
// the last server of the data folder had on the same host, if it is free. Hosts that
// joined, and whoever else was given the URL, find the server there again. left is
// where that was when it is not free. Error: unavailable.
func (p paths) openListener(address string, logger *slog.Logger) (l net.Listener, left string, err error) {
	last := p.lastAddress(address)
	if last != "" {
		if l, err = listen.Open(last); err != nil {
			left = last
			logger.Warn("the address of the last server is taken: hosts that joined there do not find this one", "address", last, "error", err)
		}
	}
	if l == nil {
		if l, err = listen.Open(address); err != nil {
			return nil, "", err
		}
	}
	host, _, err := net.SplitHostPort(address)
	if err == nil {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		err = privatefile.Write(p.address(), []byte(net.JoinHostPort(host, port)+"\n"))
	}
	if err != nil { // it serves all the same
		logger.Warn("the next server may listen on another port", "error", err)
	}
	return l, left, nil
}

// lastAddress is where the last server of the data folder listened, for an address
// on the same host that leaves the port open; empty when that is not known.
func (p paths) lastAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || strings.Trim(port, "0") != "" {
		return ""
	}
	text, err := os.ReadFile(p.address())
	if err != nil { // there was none, or it is not known
		return ""
	}
	last := strings.TrimSpace(string(text))
	lastHost, lastPort, err := net.SplitHostPort(last)
	if n, numErr := strconv.Atoi(lastPort); err != nil || numErr != nil || n < 1 || n > 65535 || lastHost != host {
		return ""
	}
	return last
}
