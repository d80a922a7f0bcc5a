//go:build linux

package embedded_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/listen"
	"github.com/berth-dev/berth/shared/listen/listentest"
)

// served is an agent's API in this process, which a test stops and starts again at
// the same address.
type served struct {
	address     string
	certificate tls.Certificate
	stop        func()

	door *listentest.Door
}

// serve begins to answer; then is called once it has stopped.
func (s *served) serve(t *testing.T, handler http.Handler, then func()) {
	t.Helper()
	if s.door == nil {
		s.door = listentest.Open(t)
		s.address = s.door.Address()
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := s.door.Enter()
	var serving sync.WaitGroup
	serving.Go(func() {
		secure := tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{s.certificate}})
		_ = listen.Serve(ctx, secure, handler, log.New(io.Discard, "", 0))
	})
	s.stop = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
		then()
	})
}
