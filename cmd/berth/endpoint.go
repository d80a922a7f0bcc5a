package main

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/strict"
)

// endpoint is the server that commands talk to.
type endpoint struct {
	// server is its URL; empty is the server of the data folder.
	server string
	// context is set when a context chose it.
	context *credentials.Context
	// by is what chose it, for people.
	by string
}

// endpoint is the server that the user chose: by a flag, an environment variable,
// a context, or the settings. A data folder that was named beats the current
// context and the settings.
func (a *app) endpoint() (endpoint, error) {
	if err := a.oneServer(); err != nil {
		return endpoint{}, err
	}
	switch {
	case a.server != "":
		return endpoint{server: a.server, by: "--server"}, nil
	case a.context != "":
		return a.contextEndpoint(a.context, "--context")
	case a.env["BERTH_SERVER"] != "":
		return endpoint{server: a.env["BERTH_SERVER"], by: "BERTH_SERVER"}, nil
	case a.dataDir != "":
		return endpoint{by: "--data-dir"}, nil
	case a.env["BERTH_CONTEXT"] != "":
		return a.contextEndpoint(a.env["BERTH_CONTEXT"], "BERTH_CONTEXT")
	case a.env["BERTH_DATA_DIR"] != "":
		return endpoint{by: "BERTH_DATA_DIR"}, nil
	}
	file, err := a.credentials()
	if err != nil {
		return endpoint{}, err
	}
	if c, ok := file.Find(file.Current); ok {
		return endpoint{server: c.Server, context: &c, by: "the current context"}, nil
	}
	server, err := a.settingsServer()
	if server != "" {
		return endpoint{server: server, by: "the settings"}, err
	}
	return endpoint{by: "default"}, err
}

// oneServer refuses a --context that something else would beat without a word.
func (a *app) oneServer() error {
	for other, named := range map[string]bool{
		"--server": a.server != "", "BERTH_SERVER": a.env["BERTH_SERVER"] != "" && a.server == "",
		"--data-dir": a.dataDir != "" && a.context != credentials.Local,
	} {
		if a.context != "" && named {
			e := berth.Errorf(berth.CodeInvalid, "--context %s and %s both name a server", a.context, other)
			e.Remediation = "leave one of them out"
			return e
		}
	}
	return nil
}

func (a *app) contextEndpoint(name, by string) (endpoint, error) {
	if name == credentials.Local {
		return endpoint{by: by}, nil
	}
	file, err := a.credentials()
	if err != nil {
		return endpoint{}, err
	}
	c, err := findContext(file, name)
	return endpoint{server: c.Server, context: &c, by: by}, err
}

// findContext returns not_found, with the names that there are.
func findContext(file credentials.File, name string) (credentials.Context, error) {
	if c, ok := file.Find(name); ok {
		return c, nil
	}
	names := contextNames(file)
	e := berth.Errorf(berth.CodeNotFound, "context %s does not exist: there are %s", name, strings.Join(names, ", "))
	e.Remediation = "make it with `berth login URL --name " + name + "`"
	if near := strict.Nearest(name, names); near != "" {
		e.Remediation = "did you mean " + near + "?"
	}
	return credentials.Context{}, e
}

// contextNames are those of a file and of the server on this machine.
func contextNames(file credentials.File) []string {
	names := []string{credentials.Local}
	for _, c := range file.List() {
		names = append(names, c.Name)
	}
	return names
}

func (a *app) credentials() (credentials.File, error) {
	dir, err := a.configFolder()
	if err != nil { // where nothing can be kept, there is nothing
		return credentials.File{}, nil
	}
	file, err := credentials.Load(filepath.Join(dir, credentials.FileName))
	var coded *berth.Error
	if err != nil && !errors.As(err, &coded) {
		err = local(err, "reading the credentials")
	}
	return file, err
}

// changeCredentials lets change work on the contexts that are kept here.
func (a *app) changeCredentials(ctx context.Context, change func(*credentials.File) error) error {
	dir, err := a.configFolder()
	if err != nil {
		return err
	}
	return credentials.Change(ctx, filepath.Join(dir, credentials.FileName), change)
}

// settingsServer is `[cli] server` of the user's settings, or "".
func (a *app) settingsServer() (string, error) {
	dir, err := a.configFolder()
	if err != nil {
		return "", nil
	}
	path := filepath.Join(dir, "settings.toml")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", local(err, "reading the settings")
	}
	settings, err := config.ReadSettings(berth.ConfigFile{Kind: berth.ConfigUser, Path: path, Source: string(text)})
	return settings.Server, err
}

// configuredServer is the URL of the server that the user chose; "" is that of the
// data folder.
func (a *app) configuredServer() (string, error) {
	e, err := a.endpoint()
	return e.server, err
}

// token is what is sent to an endpoint: never the key of another server.
func (a *app) token(e endpoint) (string, error) {
	if e.context != nil {
		return string(e.context.Key.Reveal()), nil
	}
	// A token out of a file often has its newline, which no header can hold.
	if token := strings.TrimSpace(a.env["BERTH_TOKEN"]); token != "" && a.tokenIsFor(e) {
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "", berth.Errorf(berth.CodeInvalid, "BERTH_TOKEN is not one token: it has white space or other characters that a header cannot hold")
		}
		return token, nil
	}
	file, err := a.credentials()
	if err != nil {
		return "", err
	}
	if c, ok := file.ForServer(e.server); ok {
		return string(c.Key.Reveal()), nil
	}
	dir, err := a.dataFolder()
	if err != nil {
		return "", err
	}
	return localToken(e.server, dir)
}

// tokenIsFor reports whether BERTH_TOKEN belongs to an endpoint: where it comes
// with BERTH_SERVER, it belongs to that server alone.
func (a *app) tokenIsFor(e endpoint) bool {
	named := a.env["BERTH_SERVER"]
	return named == "" || sameServer(named, e.server)
}

func sameServer(one, other string) bool {
	a, err1 := credentials.ParseServer(one)
	b, err2 := credentials.ParseServer(other)
	return one == other || (err1 == nil && err2 == nil && a == b)
}

// localToken is the data folder's token, for a server on this machine alone: it
// must not be sent to another one.
func localToken(server, dir string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || !credentials.IsLoopback(u.Hostname()) {
		return "", nil
	}
	token, err := embedded.ReadToken(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return token, err
}
