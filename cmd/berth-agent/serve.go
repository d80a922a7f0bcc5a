//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/listen"
	"github.com/berth-dev/berth/shared/rotate"
	"github.com/berth-dev/berth/shared/tokenfile"
	"github.com/berth-dev/berth/shared/version"
)

// serveOptions say how an agent is to run.
type serveOptions struct {
	dir               folder
	listen, tokenFile string
	installation      string
	minFreeDisk       string
	docker            dockerOptions
	public            publicOptions
	allowLocal        bool
	verbose           bool
	guest             string // instead of the embedded guest
	clock             berth.Clock
	dial              dialer

	minFreeBytes int64 // of minFreeDisk
}

func serveCommand() *cobra.Command {
	o := serveOptions{clock: berth.SystemClock{}, dial: dial}
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the agent in the foreground",
		Long: `Run the agent in the foreground until it is interrupted.

Its address and the fingerprint of its certificate are printed, one a line. Its
sandboxes go on when it ends, and are taken up again at the next start. It serves
one installation: the one that it has joined or that is named, else the first
whose server calls.

An agent that has joined a server sends it heartbeats, and goes on serving when
those do not arrive.

With --public-url browsers reach ports of its sandboxes, at an address of its own,
by what berth sandbox preview prints: each under a name of its own below the URL's,
which a wildcard record in the DNS has to lead here.`,
		Example: `  berth-agent serve --listen 10.0.0.7:7443
  berth-agent serve --data-dir /srv/berth-agent --token-file /etc/berth/agent-token --allow-mount /srv/cache
  berth-agent serve --public-url https://*.host.example.com --public-cert fullchain.pem --public-key privkey.pem
  berth-agent serve --docker=off --allow-local`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "", "`host:port` to listen on; port 0 lets the system choose (default: where it listened as it joined, else 127.0.0.1:7443)")
	flags.StringVar(&o.tokenFile, "token-file", "", "`file` with the token that servers must have, made when it is not there (default: token in the data folder)")
	flags.StringVar(&o.installation, "installation", "", "`id` of the installation to serve (default: the one that it has joined, else the first that calls, for good)")
	o.commonFlags(flags)
	return cmd
}

// commonFlags are those of an agent that serves for good and of one that joins.
func (o *serveOptions) commonFlags(flags *pflag.FlagSet) {
	folderFlag(flags, &o.dir)
	flags.StringVar(&o.minFreeDisk, "min-free-disk", "512MiB", "free disk `size` below which no new sandbox is made")
	o.docker.flags(flags)
	o.public.flags(flags)
	flags.BoolVar(&o.allowLocal, "allow-local", false, "let runs work on this machine itself, without isolation (provider local)")
	flags.BoolVar(&o.verbose, "verbose", false, "log every request")
	flags.StringVar(&o.guest, "guest", "", "guest program instead of the embedded one")
	_ = flags.MarkHidden("guest")
}

// serve is the agent. It returns nil after ctx has ended. Errors: conflict when
// another agent has the data folder; unavailable for a folder, address or guest
// that cannot be used; invalid.
func serve(ctx context.Context, o serveOptions, stdout, stderr io.Writer) error {
	if err := o.prepare(); err != nil {
		return err
	}
	lock, err := o.dir.claim()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return serveClaimed(ctx, o, stdout, stderr)
}

// prepare refuses flags that cannot be, and makes them ready for use.
func (o *serveOptions) prepare() (err error) {
	if o.docker.use != dockerAuto && o.docker.use != dockerOff {
		return berth.FieldErrorf(berth.CodeInvalid, "--docker", "must be %s or %s", dockerAuto, dockerOff)
	}
	if !o.allowLocal && o.docker.use == dockerOff {
		return &berth.Error{
			Code: berth.CodeInvalid, Message: "no provider is on", Remediation: "leave --docker=off away, or switch another on with --allow-local",
		}
	}
	if o.minFreeBytes, err = berth.ParseSize(o.minFreeDisk); err != nil {
		return berth.FieldErrorf(berth.CodeInvalid, "--min-free-disk", "%s", err.Error())
	}
	if err := o.public.check(); err != nil {
		return err
	}
	return o.makeAbsolute()
}

// serveClaimed serves from a data folder that is this process's.
func serveClaimed(ctx context.Context, o serveOptions, stdout, stderr io.Writer) error {
	if _, err := o.guestFor(runtime.GOARCH); err != nil {
		return err // rather than when the first server calls
	}
	joined, isMember, err := o.dir.member()
	if err != nil {
		return err
	}
	if isMember && o.installation == "" {
		o.installation = string(joined.Installation)
	}
	if err := o.public.recall(joined.Public); err != nil {
		return err
	}
	token, err := tokenfile.Open(o.tokenFile)
	if err != nil {
		return err
	}
	certificate, err := o.dir.openCertificate(o.clock)
	if err != nil {
		return err
	}
	file, err := rotate.Open(o.dir.log(), rotate.DefaultLimit)
	if err != nil {
		return err
	}
	defer file.Close()
	a := &agent{options: o, logger: newLogger(file, o.verbose), registries: registries{file: o.docker.auth}}
	if o.docker.auth != "" {
		if _, err := a.registries.read(); err != nil {
			return err
		}
	}
	if a.public, err = o.public.open(o.clock, a.logger, stderr); err != nil {
		return err
	}
	if a.public != nil {
		defer a.public.listener.Close()
		defer a.public.Close()
	}
	var m *member
	var nudge func(berth.Nudge)
	if isMember {
		if m, err = newMember(o, joined, a.public, a.logger); err != nil {
			return err
		}
		nudge = m.nudges.Send
	}
	defer a.close()
	handler, err := a.handler(token, nudge)
	if err != nil {
		return err
	}
	defer handler.Close()
	l, err := listen.Open(cmp.Or(o.listen, joined.Listen, "127.0.0.1:"+usualPort))
	if err != nil {
		return err
	}
	defer l.Close()
	url, fingerprint := urlOf(l), fingerprintOf(certificate)
	a.logger.Info("serving", "url", url, "fingerprint", fingerprint.String(), "data", string(o.dir), "version", version.Version,
		"server", joined.Server, "host", string(joined.Host))
	fmt.Fprintf(stdout, "%s\n%s\n", url, fingerprint)
	if isMember {
		fmt.Fprintf(stderr, "berth-agent: host %s of %s, which calls it at %s\n", joined.Host, joined.Server, joined.Address)
		if warning := misses(joined, url); warning != "" {
			fmt.Fprintln(stderr, "berth-agent: "+warning)
		}
		m.start(ctx)
		defer m.close()
	}
	fmt.Fprintf(stderr, "berth-agent: the token is in %s, the log in %s; Ctrl-C ends the agent and leaves its sandboxes running\n", o.tokenFile, o.dir.log())
	if a.public != nil {
		browsing, stop := context.WithCancel(ctx)
		var served sync.WaitGroup
		served.Go(func() { a.public.serve(browsing, a.logger, stderr) })
		defer served.Wait()
		defer stop()
	}
	err = listen.Serve(ctx, secure(l, certificate), handler, slog.NewLogLogger(a.logger.Handler(), slog.LevelDebug))
	a.logger.Info("ended", "error", err)
	return err
}

// makeAbsolute makes all paths independent of the current folder.
func (o *serveOptions) makeAbsolute() (err error) {
	if o.dir, err = o.dir.absolute(); err != nil {
		return err
	}
	if o.tokenFile == "" {
		o.tokenFile = o.dir.token()
	}
	for _, path := range []*string{&o.tokenFile, &o.docker.auth} {
		if *path != "" && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	return err
}

func newLogger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// urlOf is how a server reaches l: by the host's name or address where it
// listens on all.
func urlOf(l net.Listener) string {
	addr := l.Addr().(*net.TCPAddr) // net.Listen("tcp", …) gives no other
	if !addr.IP.IsUnspecified() {
		return "https://" + addr.String()
	}
	name, err := os.Hostname()
	if err != nil {
		name = "127.0.0.1"
	}
	return fmt.Sprintf("https://%s:%d", name, addr.Port)
}
