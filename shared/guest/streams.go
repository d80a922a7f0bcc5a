//go:build linux

package guest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// openStream begins a stream on the socket that came with m. It goes on when the
// connection to the agent has ended, for as long as the socket's other end is open.
func (s *session) openStream(ctx context.Context, m *wire.Message) error {
	conn, err := takeSocket(m)
	if err != nil {
		return err
	}
	if m.Op == wire.OpPort {
		var p wire.Port
		if p, err = decode[wire.Port](m); err == nil {
			err = joinPort(ctx, p.Port, conn)
		}
	} else {
		var p wire.Shell
		if p, err = decode[wire.Shell](m); err == nil {
			err = s.guest.openShell(p, conn)
		}
	}
	if err != nil {
		conn.Close()
	}
	return err
}

// takeSocket takes the end of the stream that came with m.
func takeSocket(m *wire.Message) (net.Conn, error) {
	file, err := takeFile(m)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, &berth.Error{Code: berth.CodeMalformed, Message: "what came with " + string(m.Op) + " is no socket", Cause: err}
	}
	return conn, nil
}

// portTime is how long a connection within the sandbox may take.
const portTime = 10 * time.Second

// joinPort connects to a port on the loopback address, which is the sandbox's own
// whatever network it has.
func joinPort(ctx context.Context, port int, stream net.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, portTime)
	defer cancel()
	var dialer net.Dialer
	var tcp *net.TCPConn
	var err error
	for _, host := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		var failed error
		// Not Dial, which brings the resolver of names into the guest.
		if tcp, failed = dialer.DialTCP(ctx, "tcp", netip.AddrPort{}, netip.AddrPortFrom(host, uint16(port))); failed == nil {
			break
		}
		err = errors.Join(err, failed)
	}
	switch {
	case tcp != nil:
		go channel.Join(tcp, stream)
		return nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return &berth.Error{
			Code: berth.CodeUnavailable, Field: "port", Message: "nothing listens on port " + strconv.Itoa(port) + " of the sandbox", Cause: err,
			Remediation: "Start the program there first: its address must be 127.0.0.1, localhost or all addresses.",
		}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return berth.Errorf(berth.CodeTimedOut, "port %d of the sandbox does not answer", port)
	}
	return &berth.Error{Code: berth.CodeUnavailable, Field: "port", Message: "port " + strconv.Itoa(port) + " of the sandbox cannot be connected to", Cause: err}
}
