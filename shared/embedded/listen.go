package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	headerLimit   = 10 * time.Second // for a client to send its headers
	keepAlive     = 2 * time.Minute
	shutdownLimit = 5 * time.Second // for requests in progress at the end
)

// listen opens the server's address.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "cannot listen on " + address,
			Remediation: "choose another --listen; port 0 lets the system pick", Cause: err,
		}
	}
	return l, nil
}

// urlOf is how a client on this machine reaches l.
func urlOf(l net.Listener) string {
	addr := l.Addr().(*net.TCPAddr) // net.Listen("tcp", …) gives no other
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", addr.Port)
	}
	return "http://" + addr.String()
}

// serveHTTP answers on l until ctx ends, and then lets requests in progress end.
func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerLimit, IdleTimeout: keepAlive,
		// Long polls end with the server, not after their wait.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	err := server.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-failed
	return err
}
