//go:build linux

// Package exetest is a stand-in for exe.dev: a lobby that takes its commands over
// SSH, and VMs that are real OpenSSH servers, each with a home of its own. It
// behaves as the service does, and can be told to misbehave.
package exetest

import (
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/berth-dev/berth/shared/shell/sshdtest"
)

// Server is the lobby with its VMs.
type Server struct {
	// Key is the private key that the lobby and all VMs accept.
	Key []byte
	// Port is the lobby's, on 127.0.0.1; KnownHosts its line.
	Port       string
	KnownHosts []byte

	t        testing.TB
	config   *ssh.ServerConfig
	box      *sshdtest.Server // the account's keys, and the machine of all VMs
	listener net.Listener
	work     sync.WaitGroup
	over     chan struct{}

	mu       sync.Mutex // guards all below
	vms      map[string]*VM
	commands []string
	faults   Faults
}

// Faults are what goes wrong. Counts go down with each time.
type Faults struct {
	RateLimits   int           // commands that are refused for being too many
	NoJSON       int           // answers of new that are text; the VM is made
	Refusal      string        // what new says instead of making a VM
	NoExit       int           // runs of new whose end is never told
	Cut          int           // runs of new after which the connection ends without an answer
	KeepOnRemove int           // removals that fail, with status 0
	SlowStart    time.Duration // of VMs, from when they are made
	NeverStarts  bool
	Sparse       bool // VMs of which less is told
}

// New starts a lobby that lives as long as the test.
func New(t testing.TB) *Server {
	t.Helper()
	box := sshdtest.Start(t)
	_, host, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(host)
	if err != nil {
		t.Fatal(err)
	}
	client, _, _, _, err := ssh.ParseAuthorizedKey(box.Public)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Key: box.Key, t: t, box: box, vms: map[string]*VM{}, over: make(chan struct{})}
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !slices.Equal(key.Marshal(), client.Marshal()) {
			return nil, io.EOF
		}
		return &ssh.Permissions{}, nil
	}}
	s.config.AddHostKey(signer)
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	_, s.Port, _ = net.SplitHostPort(s.listener.Addr().String())
	s.KnownHosts = []byte("[127.0.0.1]:" + s.Port + " " + string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	s.work.Go(s.accept)
	t.Cleanup(func() {
		close(s.over)
		s.listener.Close()
		s.work.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, v := range s.vms {
			v.remove()
		}
	})
	return s
}

// User may log in to the lobby.
func (s *Server) User() string { return s.box.User }

// Break sets what goes wrong from now on.
func (s *Server) Break(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Commands are the lines that the lobby has heard.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

// VMs are those that there are, by name.
func (s *Server) VMs() map[string]*VM {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]*VM{}
	for name, v := range s.vms {
		all[name] = v
	}
	return all
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.serve(conn) })
	}
}

func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	stop := make(chan struct{})
	defer close(stop)
	s.work.Go(func() {
		select {
		case <-s.over:
			conn.Close()
		case <-stop:
		}
	})
	c, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	defer c.Close()
	s.work.Go(func() { ssh.DiscardRequests(requests) })
	for opened := range channels {
		if opened.ChannelType() != "session" {
			_ = opened.Reject(ssh.UnknownChannelType, "the lobby has sessions alone")
			continue
		}
		channel, requests, err := opened.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.session(c, channel, requests) })
	}
}

// session runs the one command of a session.
func (s *Server) session(c ssh.Conn, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for request := range requests {
		if request.Type != "exec" {
			_ = request.Reply(request.Type == "env", nil)
			continue
		}
		var payload struct{ Line string }
		if err := ssh.Unmarshal(request.Payload, &payload); err != nil {
			return
		}
		_ = request.Reply(true, nil)
		out, status, end := s.run(strings.Fields(payload.Line))
		if end == cutConnection {
			c.Close()
			return
		}
		_, _ = io.WriteString(channel, out)
		if end == hang {
			<-s.over // the exit frame never comes
			return
		}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		return
	}
}
