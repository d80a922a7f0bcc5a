package gitservertest

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
)

// Options say how a repository is served. The zero value is http-backend on
// loopback, which gives every object that it has by its SHA.
type Options struct {
	// Address is host:port to listen on; empty is 127.0.0.1:0. A container reaches
	// the address of its bridge, such as 172.17.0.1:0.
	Address string
	// TLS serves https with a certificate that WriteCA writes.
	TLS bool
	// User and Password are asked for when User is set.
	User, Password string
	// Version0 hides that the client can speak protocol 2, so that only what the
	// repository's uploadpack.allow… settings allow is given by SHA.
	Version0 bool
	// Flaky is how many connections the daemon closes at once before it serves one.
	Flaky int
	// Wrap stands before the handler, to break it.
	Wrap func(http.Handler) http.Handler
}

// Server is a running server with its repository.
type Server struct {
	*Repository
	// URL is the origin to clone from.
	URL  string
	http *httptest.Server
}

// Start serves a new repository over HTTP until the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{Repository: NewRepository(t)}
	s.http = &httptest.Server{Listener: listen(t, o.Address), Config: &http.Server{Handler: s.handler(o)}}
	if o.TLS {
		s.http.StartTLS()
	} else {
		s.http.Start()
	}
	t.Cleanup(s.http.Close)
	s.URL = s.http.URL + "/repository.git"
	return s
}

// URLAt is URL with another host, for a server that listens on all addresses.
func (s *Server) URLAt(host string) string {
	u, err := url.Parse(s.URL)
	if err != nil { // it is one that Start made
		panic(err)
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

// WriteCA writes the certificate of a TLS server to a file, for GIT_SSL_CAINFO,
// and returns its path. It is good for 127.0.0.1 and example.com.
func (s *Server) WriteCA(t testing.TB) string {
	t.Helper()
	path := t.TempDir() + "/ca.pem"
	if err := os.WriteFile(path, certificatePEM(s.http.Certificate()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *Server) handler(o Options) http.Handler {
	backend := s.Handler()
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); o.User != "" && (!ok || password != o.Password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "credentials needed", http.StatusUnauthorized)
			return
		}
		if o.Version0 {
			r.Header.Del("Git-Protocol")
		}
		backend.ServeHTTP(w, r)
	})
	if o.Wrap != nil {
		h = o.Wrap(h)
	}
	return h
}

// Handler serves the repository by http-backend, to everybody, at /repository.git.
func (r *Repository) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		env := append(r.env(), "GIT_HTTP_EXPORT_ALL=1", "GIT_PROJECT_ROOT="+strings.TrimSuffix(r.Dir, "/repository.git"))
		if version := request.Header.Get("Git-Protocol"); version != "" {
			env = append(env, "GIT_PROTOCOL="+version) // older http-backends do not take it from the header
		}
		(&cgi.Handler{Path: r.git, Args: []string{"http-backend"}, Dir: r.Dir, Env: env, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0)}).ServeHTTP(w, request)
	})
}
