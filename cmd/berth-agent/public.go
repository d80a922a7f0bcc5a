//go:build linux

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/hostagent/membership"
	"github.com/berth-dev/berth/shared/hostagent/preview"
	"github.com/berth-dev/berth/shared/listen"
	"github.com/berth-dev/berth/shared/tunnel"
)

// publicNone switches off what was recorded as the host joined.
const publicNone = "none"

// publicOptions say how browsers reach previews of sandboxes.
type publicOptions struct {
	membership.Public
	url berth.PublicURL // of URL
}

func (o *publicOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.URL, "public-url", "", "`URL` at which browsers reach previews of sandboxes, such as https://*.host.example.com; none switches it off (default: as it joined, else none)")
	flags.StringVar(&o.Cert, "public-cert", "", "`file` with the certificate for the public URL and its chain, in PEM, read again when it is renewed (default: a proxy on this machine ends TLS)")
	flags.StringVar(&o.Key, "public-key", "", "`file` with the key of that certificate, in PEM")
	flags.StringVar(&o.Listen, "public-listen", "", "`host:port` to listen on for browsers (default: the public URL's port on all addresses; behind a proxy it has to be named)")
}

// check refuses what browsers could not use, and makes paths absolute.
func (o *publicOptions) check() (err error) {
	if o.URL == "" || o.URL == publicNone {
		if o.Cert != "" || o.Key != "" || o.Listen != "" {
			return &berth.Error{
				Code: berth.CodeInvalid, Field: "--public-url", Message: "is missing, and other flags for it are there",
				Remediation: "name the URL, such as --public-url https://*.host.example.com",
			}
		}
		return nil
	}
	if o.url, err = berth.ParsePublicURL(o.URL); err != nil {
		return berth.FieldErrorf(berth.CodeInvalid, "--public-url", "%s", err.Error())
	}
	o.URL = o.url.String()
	if (o.Cert == "") != (o.Key == "") {
		return berth.FieldErrorf(berth.CodeInvalid, "--public-cert", "and --public-key go together")
	}
	for _, path := range []*string{&o.Cert, &o.Key} {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	if err != nil {
		return err
	}
	if o.Cert == "" {
		host, _, err := net.SplitHostPort(o.Listen)
		if err != nil || !credentials.IsLoopback(host) {
			return &berth.Error{
				Code: berth.CodeInvalid, Field: "--public-listen", Message: "must be a loopback address and a port, such as 127.0.0.1:8443, when there is no certificate: without TLS others on the way could read tickets and cookies",
				Remediation: "let a proxy on this machine end TLS and lead there; or give the agent the certificate with --public-cert and --public-key",
			}
		}
	}
	o.Listen = cmp.Or(o.Listen, ":"+strconv.Itoa(o.url.Port()))
	return nil
}

// recall takes what was recorded as the host joined, unless flags say something.
func (o *publicOptions) recall(r membership.Public) error {
	if o.URL == publicNone {
		o.Public = membership.Public{}
		return nil
	}
	if o.URL == "" {
		o.Public = r
	}
	return o.check()
}

// public serves previews to browsers, at an address of their own: nothing of the
// agent's API is there.
type public struct {
	*preview.Store
	listener net.Listener // with TLS, or behind a proxy
	address  string
	over     atomic.Bool // nothing listens any more, until the agent is started again
}

// open listens; it returns nil when browsers are not served.
func (o publicOptions) open(clock berth.Clock, logger *slog.Logger, stderr io.Writer) (*public, error) {
	if o.URL == "" {
		return nil, nil
	}
	certificate, err := o.certificate(clock, logger, stderr)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Field: "--public-listen", Message: "cannot listen on " + o.Listen + " for browsers", Cause: err,
			Remediation: "choose another address; a port below 1024 needs root, or CAP_NET_BIND_SERVICE",
		}
	}
	p := &public{
		Store:    preview.New(preview.Config{URL: o.url, Proxied: certificate == nil, Clock: clock, Logger: logger}),
		listener: listen.Limit(l, preview.MaxConns), address: l.Addr().String(),
	}
	if certificate != nil {
		p.listener = tls.NewListener(p.listener, certificate.TLS())
	}
	fmt.Fprintf(stderr, "berth-agent: browsers reach previews at %s, which has to lead to %s\n", o.URL, p.address)
	return p, nil
}

// certificate is nil behind a proxy. One that has expired is only told of: the host
// has more to do than to serve browsers, and it may be renewed at any time.
func (o publicOptions) certificate(clock berth.Clock, logger *slog.Logger, stderr io.Writer) (*preview.Certificate, error) {
	if o.Cert == "" {
		return nil, nil
	}
	certificate, err := preview.OpenCertificate(o.url, o.Cert, o.Key, clock, logger)
	if err != nil {
		return nil, err
	}
	if at, over := certificate.Expired(); over {
		logger.Error("the public certificate has expired: browsers refuse it", "file", o.Cert, "expired", at)
		fmt.Fprintf(stderr, "berth-agent: the certificate in %s expired on %s: browsers refuse it until it is renewed\n", o.Cert, at.Format("2006-01-02"))
	}
	return certificate, nil
}

// serve answers browsers until ctx ends. A listener that fails before takes the
// previews with it, and the public URL: the host's other work goes on.
func (p *public) serve(ctx context.Context, logger *slog.Logger, stderr io.Writer) {
	err := listen.Serve(ctx, p.listener, p.Store, slog.NewLogLogger(logger.Handler(), slog.LevelDebug))
	if err == nil || ctx.Err() != nil {
		return
	}
	p.over.Store(true)
	p.EndAll()
	logger.Error("browsers are not served any more, until the agent is started again", "address", p.address, "error", err)
	fmt.Fprintf(stderr, "berth-agent: browsers reach no previews any more, as %s failed (%s): start the agent again\n", p.address, err)
}

// Open makes a preview, as long as browsers are served.
func (p *public) Open(sandbox berth.SandboxID, port int, ttl time.Duration, open tunnel.Opener) (url string, until time.Time, err error) {
	if p.over.Load() {
		return "", until, &berth.Error{
			Code: berth.CodeUnavailable, Message: "berth-agent there serves browsers no more: " + p.address + ", where it listened for them, failed",
			Remediation: "Start berth-agent on the host again; its log says what happened. Or leave --browser away: a port of your machine leads there then.",
		}
	}
	return p.Store.Open(sandbox, port, ttl, open)
}

// announced is the public URL for the server to know; empty for none.
func (p *public) announced() string {
	if p == nil || p.over.Load() {
		return ""
	}
	return p.URL().String()
}
