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

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/membership"
	"github.com/berth-dev/berth/shared/listen"
	"github.com/berth-dev/berth/shared/version"
)

// trial is an agent that serves while it joins: the server calls it back. Whom it
// belongs to is written down only once it is accepted.
type trial struct {
	options joinOptions
	ask     berth.HostJoin
}

// run joins and returns what was recorded.
func (t *trial) run(ctx context.Context, stderr io.Writer) (member membership.Record, err error) {
	certificate, err := t.options.dir.openCertificate(t.options.clock)
	if err != nil {
		return member, err
	}
	if _, err := t.options.public.certificate(t.options.clock, quietLogger(), stderr); err != nil {
		return member, err // rather than when it serves
	}
	l, address, err := t.options.openForJoin()
	if err != nil {
		return member, err
	}
	defer l.Close()
	a := &agent{options: t.options.serveOptions, logger: quietLogger(), registries: registries{file: t.options.docker.auth}, trial: true}
	defer a.close()
	if t.ask.Providers, err = a.brings(); err != nil {
		return member, err
	}
	capacity, err := t.options.dir.hostCapacity()
	if err != nil {
		return member, err
	}
	t.ask.Address, t.ask.Fingerprint = address, fingerprintOf(certificate).String()
	t.ask.HostCapacity, t.ask.PublicURL, t.ask.Version = capacity, t.options.public.URL, version.Version
	handler, err := a.handler(t.ask.Bearer, nil)
	if err != nil {
		return member, err
	}
	defer handler.Close()
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- listen.Serve(serving, secure(l, certificate), handler, slog.NewLogLogger(quietLogger().Handler(), slog.LevelDebug))
	}()
	fmt.Fprintf(stderr, "berth-agent: asking %s to take this machine as a host; it is to call back at %s\n", t.options.server, address)
	joined, err := t.join(ctx)
	stop()
	if served := <-ended; err == nil {
		err = served
	}
	if err != nil {
		return member, err
	}
	return t.record(joined, a.adopted(), l)
}

func (t *trial) join(ctx context.Context) (berth.JoinedHost, error) {
	plane, err := t.options.dial(t.options.server, "")
	if err != nil {
		return berth.JoinedHost{}, err
	}
	joined, err := plane.JoinHost(ctx, t.ask)
	if err != nil {
		return joined, err
	}
	_, notHost := berth.ParseHostID(string(joined.Host.ID))
	_, notInstallation := berth.ParseSlug("installation", string(joined.Installation))
	if notHost != nil || notInstallation != nil || joined.Key == "" {
		return joined, berth.Errorf(berth.CodeUnavailable, "%s has answered without the host's id, key or installation: check the server's URL", t.options.server)
	}
	return joined, nil
}

// record writes down what was answered. From then on the agent belongs to the
// installation.
func (t *trial) record(joined berth.JoinedHost, called berth.InstallationID, l net.Listener) (membership.Record, error) {
	member := membership.Record{
		Server: t.options.server, Installation: joined.Installation, Host: joined.Host.ID, Key: berth.NewSecretValue([]byte(joined.Key)),
		Address: t.ask.Address, Listen: listenedOn(l), Public: t.options.public.Public, JoinedAt: t.options.clock.Now(),
	}
	if called != "" && called != joined.Installation {
		return member, &berth.Error{
			Code: berth.CodeConflict, Message: fmt.Sprintf("installation %s has answered, and %s has called back", joined.Installation, called),
			Remediation: "remove the host there with `berth host rm " + string(joined.Host.ID) + "`, and see who else has this machine's token",
		}
	}
	err := t.options.dir.setOwner(joined.Installation)
	if err == nil {
		err = member.Write(t.options.dir.host())
	}
	if err != nil {
		return member, &berth.Error{
			Code: berth.CodeUnavailable, Message: "the server has taken this machine as host " + string(joined.Host.ID) + ", and that could not be written down", Cause: err,
			Remediation: "remove the host with `berth host rm " + string(joined.Host.ID) + "`, correct what is wrong, and join with another token",
		}
	}
	return member, nil
}

// brings are the providers that the server is offered: of hosts it takes docker.
// They are opened for it once, as no installation is known yet.
func (a *agent) brings() ([]berth.ProviderKind, error) {
	owner, err := a.owner()
	if err != nil {
		return nil, err
	}
	found, err := a.options.openProviders(cmp.Or(owner, "none-yet"), &a.registries, a.logger)
	if err != nil {
		return nil, err
	}
	_, docker := found.Providers[berth.ProviderDocker]
	if err := found.Close(); err != nil {
		return nil, err
	}
	if !docker {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "no Docker engine answers, and a host brings docker",
			Remediation: "start Docker on this machine, leave --docker=off away, or name the engine with --docker-host",
		}
	}
	return []berth.ProviderKind{berth.ProviderDocker}, nil
}

func secure(l net.Listener, certificate tls.Certificate) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"},
	})
}
