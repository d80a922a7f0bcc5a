//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/tokenfile"
)

// joinOptions say whom to join and as what.
type joinOptions struct {
	serveOptions
	server, token, address string
	labels                 []string
	insecure, goOn         bool
}

func joinCommand() *cobra.Command {
	o := joinOptions{serveOptions: serveOptions{clock: berth.SystemClock{}, dial: dial}}
	cmd := &cobra.Command{
		Use: "join URL --token TOKEN", Short: "Make this machine a host of a berth server",
		Long: `Make this machine a host of a berth server, with the token that ` + "`berth host add`" + ` has
printed: it is good once, for ten minutes.

The server is told an address, the fingerprint of the agent's certificate and a
bearer token, and calls that address back before it accepts. The agent listens
meanwhile, and ends: run ` + "`berth-agent serve`" + ` afterwards, as a service, or let --serve
go on with it. What this machine needs for its sandboxes is said to serve.`,
		Example: `  berth-agent join https://abc123.execute-api.eu-west-1.amazonaws.com/v1 --token T --label zone=a
  berth-agent join https://berth.example.com --token - --address https://203.0.113.7:7443 <token.txt
  berth-agent join https://berth.example.com --token T --public-url https://*.host.example.com \
    --public-cert /etc/letsencrypt/live/host/fullchain.pem --public-key /etc/letsencrypt/live/host/privkey.pem
  berth-agent join http://127.0.0.1:8080 --token T --serve`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return usage(cmd, "the one argument is the server's URL")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.server = args[0]
			return join(cmd.Context(), o, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.token, "token", "", "`token` that berth host add has printed; - reads it from standard input")
	flags.StringVar(&o.address, "address", "", "`URL` at which the server reaches this machine, such as https://203.0.113.7:7443 (default: the address that leads to the server)")
	flags.StringArrayVar(&o.labels, "label", nil, "`NAME=VALUE` that environments choose hosts by; may be repeated")
	flags.StringVar(&o.listen, "listen", "", "`host:port` to listen on, now and when it serves (default :7443, or 127.0.0.1:7443 when the server is on this machine)")
	flags.BoolVar(&o.insecure, "insecure", false, "send the token and the key over plain http to another machine, where others can read them")
	flags.BoolVar(&o.goOn, "serve", false, "serve when it has joined, as berth-agent serve does")
	o.commonFlags(flags)
	return cmd
}

// join is the whole command. The refusal of a server comes back as it is.
func join(ctx context.Context, o joinOptions, stdin io.Reader, stdout, stderr io.Writer) error {
	ask, err := o.check(stdin)
	if err != nil {
		return err
	}
	lock, err := o.dir.claim()
	if err != nil {
		return berth.Wrap(err, "joining, for which no agent may run (systemctl stop berth-agent)")
	}
	defer lock.Unlock()
	if was, joined, err := o.dir.member(); err != nil {
		return err
	} else if joined {
		return &berth.Error{
			Code: berth.CodeConflict, Message: fmt.Sprintf("this machine is host %s of %s already", was.Host, was.Server),
			Remediation: "run `berth-agent serve`; or `berth-agent leave`, and join again",
		}
	}
	if ask.Bearer, err = tokenfile.Open(o.dir.token()); err != nil {
		return err
	}
	t := &trial{options: o, ask: ask}
	member, err := t.run(ctx, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n%s\n", member.Host, member.Address)
	fmt.Fprintf(stderr, "berth-agent: host %s of installation %s; the server reaches it at %s\n", member.Host, member.Installation, member.Address)
	if !o.goOn {
		fmt.Fprintln(stderr, "berth-agent: now run `systemctl enable --now berth-agent`, or `berth-agent serve`")
		return nil
	}
	o.listen = member.Listen // where the server has called, also when the system chose the port
	return serveClaimed(ctx, o.serveOptions, stdout, stderr)
}

// check refuses what cannot come to anything before anything is done or sent.
func (o *joinOptions) check(stdin io.Reader) (ask berth.HostJoin, err error) {
	if o.server, err = credentials.ParseServer(o.server); err != nil {
		return ask, err
	}
	if !credentials.IsSafe(o.server) && !o.insecure {
		return ask, &berth.Error{
			Code: berth.CodeInvalid, Message: "the server's URL is plain http: others on the way could read the token, and the key that is answered",
			Remediation: "use its https URL; or --insecure, in a network where nobody else is",
		}
	}
	if o.token == "-" {
		line, err := io.ReadAll(io.LimitReader(stdin, 4<<10))
		if err != nil {
			return ask, fmt.Errorf("reading the token: %w", err)
		}
		o.token = strings.TrimSpace(string(line))
	}
	if o.token == "" {
		return ask, &berth.Error{
			Code: berth.CodeInvalid, Field: "--token", Message: "is missing", Remediation: "`berth host add`, where you use berth, prints one",
		}
	}
	ask.Token = o.token
	if ask.Labels, err = labelsOf(o.labels); err != nil {
		return ask, err
	}
	if o.address != "" {
		if err := berth.CheckHostAddress(o.address, true); err != nil {
			return ask, berth.FieldErrorf(berth.CodeInvalid, "--address", "%s", err.Error())
		}
		o.address = strings.TrimRight(o.address, "/")
	}
	err = o.prepare()
	if o.public.URL == publicNone {
		o.public.URL = ""
	}
	return ask, err
}

func labelsOf(flags []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, flag := range flags {
		name, value, found := strings.Cut(flag, "=")
		if _, twice := labels[name]; !found || twice {
			return nil, berth.FieldErrorf(berth.CodeInvalid, "--label", "must be NAME=VALUE, each name once")
		}
		labels[name] = value
	}
	return labels, berth.Invalid(berth.ValidateLabels("--label", labels))
}

// quietLogger is for a join, which tells all that it has to say itself.
func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }
