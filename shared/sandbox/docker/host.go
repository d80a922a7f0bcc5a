package docker

import (
	"strings"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
)

// ClientOptions are how a client connects to the engine at host: by unix://,
// tcp:// or ssh://. Certificates are those of DOCKER_CERT_PATH, as for the docker
// client. Errors: invalid, unsupported.
func ClientOptions(host string) ([]client.Opt, error) {
	scheme, _, _ := strings.Cut(host, "://")
	switch scheme {
	case "unix":
		return []client.Opt{client.WithHost(host)}, nil
	case "tcp", "http", "https":
		return []client.Opt{client.WithTLSClientConfigFromEnv(), client.WithHost(host)}, nil
	case "ssh":
		return sshOptions(host)
	}
	return nil, &berth.Error{
		Code: berth.CodeUnsupported, Field: "docker-host", Message: "an engine at " + host + " cannot be connected to",
		Remediation: "Name it by unix://, tcp:// or ssh://.",
	}
}
