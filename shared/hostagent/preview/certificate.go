package preview

import (
	"crypto/tls"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// lookEvery is the least time between two looks at a certificate's files.
const lookEvery = 5 * time.Second

// Certificate is the operator's own, which browsers trust. It is read again when its
// files were renewed; while they are not whole, the one before counts.
type Certificate struct {
	url       berth.PublicURL
	cert, key string // files, in PEM
	clock     berth.Clock
	logger    *slog.Logger

	mu       sync.Mutex // guards all below
	loaded   *tls.Certificate
	files    [2]fs.FileInfo // that were tried last
	lookedAt time.Time
}

// OpenCertificate reads a certificate, with those between it and its authority, and its
// key. Error: invalid for files that cannot be read or do not belong together, and
// for a certificate that does not cover the URL.
func OpenCertificate(url berth.PublicURL, cert, key string, clock berth.Clock, logger *slog.Logger) (*Certificate, error) {
	c := &Certificate{url: url, cert: cert, key: key, clock: clock, logger: logger, lookedAt: clock.Now()}
	c.files = c.stat()
	var err error
	c.loaded, err = c.read()
	return c, err
}

func (c *Certificate) read() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Message: c.cert + " and " + c.key + " are no certificate with its key, in PEM", Cause: err,
			Remediation: "name the file with the whole chain, such as fullchain.pem, and that with its private key",
		}
	}
	if err := pair.Leaf.VerifyHostname(c.url.Name("preview")); err != nil {
		return nil, &berth.Error{
			Code: berth.CodeInvalid, Message: c.cert + " does not certify " + c.url.Name("*") + ", the name of the public URL", Cause: err,
			Remediation: "have one issued for that name, star included: authorities ask for a record in the DNS for it",
		}
	}
	return &pair, nil
}

func (c *Certificate) stat() (files [2]fs.FileInfo) {
	for i, path := range []string{c.cert, c.key} {
		if info, err := os.Stat(path); err == nil {
			files[i] = info
		}
	}
	return files
}

// Expired reports whether the certificate has ended, and when.
func (c *Certificate) Expired() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded.Leaf.NotAfter, c.clock.Now().After(c.loaded.Leaf.NotAfter)
}

// TLS answers under names of previews alone.
func (c *Certificate) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: c.of}
}

func (c *Certificate) of(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if _, ok := c.url.Label(hello.ServerName); !ok {
		return nil, berth.Errorf(berth.CodeNotFound, "there is no preview of another name")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock.Now(); now.Sub(c.lookedAt) >= lookEvery {
		c.lookedAt = now
		c.renew()
	}
	return c.loaded, nil
}

// renew reads files that are not those that were tried last.
func (c *Certificate) renew() {
	now := c.stat()
	same := true
	for i, was := range c.files {
		is := now[i]
		same = same && (is == nil) == (was == nil) && (is == nil || os.SameFile(is, was) && is.ModTime().Equal(was.ModTime()) && is.Size() == was.Size())
	}
	if same {
		return
	}
	c.files = now
	loaded, err := c.read()
	if err != nil {
		c.logger.Error("the public certificate was not renewed: the one before counts", "error", err)
		return
	}
	c.loaded = loaded
	c.logger.Info("the public certificate was renewed", "until", loaded.Leaf.NotAfter)
}
