package docker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// defaultRegistry is that of images without one.
const defaultRegistry = "docker.io"

// hubKey is what the usual client calls docker.io in its file.
const hubKey = "index.docker.io"

// ParseAuths reads the "auths" of a config.json of the docker client, for
// Config.Credentials. Errors: invalid, without any part of the text.
func ParseAuths(text []byte) (func(ctx context.Context, registry string) (*Credentials, error), error) {
	var file struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Username      string `json:"username"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
		} `json:"auths"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, berth.Errorf(berth.CodeInvalid, "the registries' credentials are not the JSON of a docker config.json")
	}
	found := map[string]*Credentials{}
	for key, entry := range file.Auths {
		if entry.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(entry.Auth)
			name, password, ok := strings.Cut(string(plain), ":")
			if err != nil || !ok {
				return nil, berth.Errorf(berth.CodeInvalid, "the credentials of registry %s are malformed: auth must be name:password in base64", registryOf(key))
			}
			entry.Username, entry.Password = name, strings.TrimRight(password, "\x00")
		}
		found[registryOf(key)] = &Credentials{
			Username: entry.Username, Password: berth.NewSecretValue([]byte(entry.Password)), IdentityToken: berth.NewSecretValue([]byte(entry.IdentityToken)),
		}
	}
	return func(_ context.Context, registry string) (*Credentials, error) { return found[registry], nil }, nil
}

// registryOf is the host of a key, which may be a URL.
func registryOf(key string) string {
	host := key
	if u, err := url.Parse(key); err == nil && u.Host != "" {
		host = u.Host
	}
	host, _, _ = strings.Cut(host, "/")
	if host == hubKey {
		return defaultRegistry
	}
	return host
}
