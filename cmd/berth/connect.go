package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/terminal"
	"github.com/berth-dev/berth/shared/version"
)

// connect returns a client of the configured server, or of the server of the
// data folder, which is started when it does not run.
func (a *app) connect() (*client.Client, error) {
	a.warnOfPlainHTTP()
	return a.client(a.startServer, client.Config{})
}

// connectRunning is connect without starting a server, and without patience.
func (a *app) connectRunning() (*client.Client, error) {
	return a.client(embedded.Find, client.Config{Patience: -1})
}

// connectProbed is connect with a look at every exchange.
func (a *app) connectProbed(probe http.RoundTripper) (*client.Client, error) {
	return a.client(a.startServer, client.Config{HTTPClient: &http.Client{
		Transport: probe,
		// The token stays with the server that it is for.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
}

// warnOfPlainHTTP tells that anybody on the way can read the key.
func (a *app) warnOfPlainHTTP() {
	if server, err := a.configuredServer(); err == nil && server != "" {
		a.noteUnsafe(a.note, server)
	}
}

func (a *app) noteUnsafe(note func(string, ...any), server string) {
	// There is no way to what is no URL: it is refused where it is used.
	u, err := url.Parse(server)
	if err == nil && strings.EqualFold(u.Scheme, "http") && u.Hostname() != "" && !credentials.IsSafe(server) {
		note("warning: the way to %s is not encrypted: whoever is on it can read the key and all else; use https", terminal.Clean(u.Host))
	}
}

type finder func(ctx context.Context, dataDir string) (embedded.Found, error)

func (a *app) startServer(ctx context.Context, dir string) (embedded.Found, error) {
	command, err := backgroundCommand(dir)
	if err != nil {
		return embedded.Found{}, err
	}
	found, err := embedded.Connect(ctx, dir, command)
	if err == nil {
		a.greet(found, dir)
	}
	return found, err
}

func (a *app) client(find finder, cfg client.Config) (*client.Client, error) {
	cfg.UserAgent, cfg.Clock = "berth/"+version.Version, a.clock
	e, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	if e.server != "" {
		cfg.BaseURL = e.server
		if cfg.Token, err = a.token(e); err != nil {
			return nil, err
		}
		return client.New(cfg)
	}
	dir, err := a.dataFolder()
	if err != nil {
		return nil, err
	}
	cfg.Locate = func(ctx context.Context) (string, string, error) {
		found, err := find(ctx, dir)
		var coded *berth.Error
		if err != nil && !errors.As(err, &coded) {
			err = local(err, "using the data folder "+dir)
		}
		return found.URL, found.Token, err
	}
	return client.New(cfg)
}

// greet tells about a server that was started, and about one of another version.
func (a *app) greet(found embedded.Found, dir string) {
	if found.Started {
		a.note("started a server in the background for %s", dir)
		if found.Left != "" {
			a.note("warning: it is at %s, as another program has %s: hosts that joined there do not find it; free that port and start it again, or let them join again",
				terminal.Clean(found.URL), terminal.Clean(found.Left))
		}
	}
	if found.Version != version.Version {
		a.note("warning: the running server is berth %s, this is %s; `berth stop` ends it (process %d; runs go on), and the next command starts one of this version",
			found.Version, version.Version, found.PID)
	}
}

// backgroundCommand starts this program as the server of a data folder.
func backgroundCommand(dir string) ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "this program's own path is not known, so no server can be started",
			Remediation: "start one with `berth serve`, and set BERTH_SERVER", Cause: err,
		}
	}
	return []string{exe, "serve", "--background", "--data-dir", dir}, nil
}
