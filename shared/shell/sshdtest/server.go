// Package sshdtest runs a real OpenSSH server for tests: on 127.0.0.1, with keys
// and a configuration of its own, as the present user, whose home is a folder of
// the test's.
package sshdtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is one SSH server, with a process for each connection.
type Server struct {
	// User may log in with the key in KeyFile; Port is on 127.0.0.1.
	User, Port string
	// Home is what sessions find in HOME.
	Home string
	// Key is the private key of the client, Public its line for authorized_keys.
	Key, Public []byte
	// KnownHosts is the line by which clients know the server.
	KnownHosts []byte
	// ClientConfig is a configuration of OpenSSH's client in which the server is
	// the host Alias.
	ClientConfig string

	sshd, config string
	listener     net.Listener
	work         sync.WaitGroup

	mu       sync.Mutex // guards all below
	sessions map[*exec.Cmd]bool
	accepted int
	refusing bool
}

// Alias is the server's name in ClientConfig.
const Alias = "box"

// NoHost is a name that does not resolve, on machines without a name server too: no
// part of a name is that long.
const NoHost = "no-such-host-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.invalid"

// Start runs a server until the test ends. Each of options is a line of
// sshd_config. It skips with -short and where no sshd is installed, and fails where
// BERTH_REQUIRE names sshd.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	return start(t, nil, options)
}

// StartFor is Start of a server that takes the same client's key as owner.
func StartFor(t testing.TB, owner *Server) *Server {
	t.Helper()
	return start(t, owner, nil)
}

func start(t testing.TB, owner *Server, options []string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts OpenSSH's server: run without -short")
	}
	sshd := find(t)
	current, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &Server{User: current.Username, Home: filepath.Join(dir, "home"), sshd: sshd, config: filepath.Join(dir, "sshd_config"), sessions: map[*exec.Cmd]bool{}}
	if os.Geteuid() == 0 {
		// Where sshd locks up what it does before a login; packages make it at boot.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(s.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	host := newKey(t)
	client := newKey(t)
	if owner != nil {
		client = keyPair{owner.Key, owner.Public}
	}
	s.Key, s.Public = client.private, client.public
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lines := append(append([]string{}, options...), // the first of two lines counts
		"HostKey "+write("host_key", host.private), "AuthorizedKeysFile "+write("authorized_keys", client.public),
		"StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password",
		"PrintMotd no", "PrintLastLog no", "SetEnv HOME="+s.Home, "LogLevel ERROR", "PidFile none")
	write("sshd_config", []byte(strings.Join(lines, "\n")+"\n"))
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	_, s.Port, _ = net.SplitHostPort(s.listener.Addr().String())
	s.KnownHosts = []byte("[127.0.0.1]:" + s.Port + " " + string(host.public))
	s.ClientConfig = write("client_config", fmt.Appendf(nil, `Host %s
	HostName 127.0.0.1
	Port %s
	User %s
	IdentityFile %s
	IdentitiesOnly yes
	UserKnownHostsFile %s
	GlobalKnownHostsFile /dev/null
`, Alias, s.Port, s.User, write("client_key", client.private), write("known_hosts", s.KnownHosts)))
	s.work.Go(s.accept)
	t.Cleanup(func() {
		s.listener.Close()
		s.Cut()
		s.work.Wait()
	})
	return s
}

func find(t testing.TB) string {
	for _, path := range []string{"/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			if _, err := exec.LookPath("ssh"); err == nil {
				return path
			}
		}
	}
	const why = "no OpenSSH server and client are installed"
	for _, name := range strings.Split(os.Getenv("BERTH_REQUIRE"), ",") {
		if name == "sshd" {
			t.Fatal(why + ", and BERTH_REQUIRE names sshd")
		}
	}
	t.Skip(why)
	return ""
}

// Destination is user@host, without the port.
func (s *Server) Destination() string { return s.User + "@127.0.0.1" }

// Connections is how many have been accepted.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Refuse closes new connections at once, or takes them again.
func (s *Server) Refuse(refuse bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = refuse
}

// Cut kills the server's processes. What they started lives on.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cmd := range s.sessions {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.accepted++
		refusing := s.refusing
		s.mu.Unlock()
		if !refusing {
			s.serve(conn.(*net.TCPConn))
		}
		conn.Close() // the process has its own descriptor
	}
}

func (s *Server) serve(conn *net.TCPConn) {
	file, err := conn.File()
	if err != nil {
		return
	}
	defer file.Close()
	cmd := exec.Command(s.sshd, "-i", "-e", "-f", s.config)
	cmd.Stdin, cmd.Stdout = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cmd.Start() != nil {
		return
	}
	s.sessions[cmd] = true
	s.work.Go(func() {
		_ = cmd.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, cmd)
	})
}

// WaitIdle waits until no connection is left.
func (s *Server) WaitIdle(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		left := len(s.sessions)
		s.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are left", left)
		}
	}
}
