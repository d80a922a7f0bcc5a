// Package listen serves HTTP on a listener from its opening to an end in good
// order.
package listen

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	headerLimit   = 10 * time.Second // for a client to send its headers
	headerBytes   = 64 << 10         // of all headers of a request, not the megabyte that is usual
	keepAlive     = 2 * time.Minute
	shutdownLimit = 5 * time.Second // for requests in progress at the end
	// maxConns is far above what runs, streams and people need of one server, and
	// below what its memory and files could not bear.
	maxConns = 8192
)

// Open listens on host:port, for as many connections at a time as a server can bear.
// Error: unavailable.
func Open(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "cannot listen on " + address,
			Remediation: "choose another --listen; port 0 lets the system pick", Cause: err,
		}
	}
	return Limit(l, maxConns), nil
}

// Serve answers on l until ctx ends, and then lets requests in progress end. A body
// may take 30 s, unless the handler sets read deadlines of its own. What net/http has
// to say of connections goes to complaints.
func Serve(ctx context.Context, l net.Listener, h http.Handler, complaints *log.Logger) error {
	server := &http.Server{
		Handler: bounded(h), ReadHeaderTimeout: headerLimit, MaxHeaderBytes: headerBytes, IdleTimeout: keepAlive,
		ErrorLog: complaints,
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
