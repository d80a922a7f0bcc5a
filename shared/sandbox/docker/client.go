package docker

import (
	"errors"
	"net/url"
	"strings"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/shell"
)

// Client is a client of an engine at any address.
type Client struct {
	*client.Client
	shell *shell.Program // by which it is reached; nil where that is no ssh
}

// NewClient makes a client of the engine at host: unix://, tcp:// with the
// certificates of DOCKER_CERT_PATH as for the docker client, or ssh://. A connection
// by TCP or ssh whose other side is gone ends within half a minute. sshConfig
// replaces the user's own configuration of OpenSSH when it is set. Errors: invalid,
// unsupported; unavailable without an OpenSSH client.
func NewClient(host, sshConfig string) (*Client, error) {
	options := []client.Opt{client.WithUserAgent("berth")}
	var program *shell.Program
	scheme, _, _ := strings.Cut(host, "://")
	switch scheme {
	case "unix":
		options = append(options, client.WithHost(host))
	case "tcp", "http", "https":
		more, err := tcpOptions(host)
		if err != nil {
			return nil, err
		}
		options = append(options, more...)
	case "ssh":
		config, err := sshConnection(host)
		if err != nil {
			return nil, err
		}
		config.ConfigFile = sshConfig
		if program, err = shell.NewProgram(config); err != nil {
			return nil, err
		}
		options = append(options, client.WithHost("http://docker.example.com"), client.WithDialContext(dialStdio(program)))
	default:
		return nil, &berth.Error{
			Code: berth.CodeUnsupported, Field: "docker-host", Message: "an engine at " + host + " cannot be connected to",
			Remediation: "Name it by unix://, tcp:// or ssh://.",
		}
	}
	api, err := client.New(options...)
	if err != nil {
		if program != nil {
			_ = program.Close() // it has not been used
		}
		return nil, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "%s", err.Error())
	}
	return &Client{api, program}, nil
}

// Close ends its connections.
func (c *Client) Close() error {
	err := c.Client.Close()
	if c.shell != nil {
		err = errors.Join(err, c.shell.Close())
	}
	return err
}

// sshConnection reads ssh://USER@HOST:PORT. Error: invalid.
func sshConnection(host string) (config shell.ProgramConfig, err error) {
	u, err := url.Parse(host)
	switch {
	case err != nil:
		return config, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "%s", err.Error())
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-"):
		return config, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "%s names no machine", host)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return config, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "%s has more than user, machine and port", host)
	}
	config = shell.ProgramConfig{Destination: u.Hostname(), Port: u.Port()}
	if name := u.User.Username(); name != "" {
		config.Destination = name + "@" + config.Destination
	}
	if _, set := u.User.Password(); set || strings.HasPrefix(config.Destination, "-") {
		return config, berth.FieldErrorf(berth.CodeInvalid, "docker-host", "must not hold a password or an option: use a key, and the user's name")
	}
	return config, nil
}
