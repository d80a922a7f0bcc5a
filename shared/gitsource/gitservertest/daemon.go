package gitservertest

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// StartDaemon serves a new repository by git daemon, one process a connection,
// until the test ends. Of the options Address and Flaky are used.
func StartDaemon(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{Repository: NewRepository(t)}
	if _, err := os.Stat(filepath.Join(s.run(t, nil, "", "--exec-path"), "git-daemon")); err != nil {
		t.Skip("git has no daemon here")
	}
	l := listen(t, o.Address)
	var running sync.WaitGroup
	running.Go(func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if n <= o.Flaky {
				_ = conn.Close()
				continue
			}
			running.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(running.Wait)
	t.Cleanup(func() { _ = l.Close() })
	s.URL = "git://" + l.Addr().String() + "/repository.git"
	return s
}

// serve runs the daemon as inetd does. The client's disconnect ends it.
func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	socket, err := conn.(*net.TCPConn).File()
	if err != nil {
		return
	}
	defer socket.Close()
	root := filepath.Dir(s.Dir)
	cmd := exec.Command(s.git, "daemon", "--inetd", "--export-all", "--informative-errors", "--timeout=30", "--base-path="+root, root)
	cmd.Env, cmd.Stdin, cmd.Stdout = s.env(), socket, socket
	_ = cmd.Run() // its errors go to the client
}

func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}
