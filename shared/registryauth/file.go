// Package registryauth finds the credentials that images are pulled with.
package registryauth

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// Default is the registry of images that name none.
const Default = "docker.io"

// hubKey is what the usual client calls docker.io in its file.
const hubKey = "index.docker.io"

// Credentials are one registry's: a name with a password, or a token.
type Credentials struct {
	Username string
	Password berth.SecretValue
	// IdentityToken is exchanged for an access token, in place of a password.
	IdentityToken berth.SecretValue
}

// File is what a config.json of the docker client holds, by registry, such as
// docker.io or host:5000.
type File map[string]Credentials

// Find returns nil for a registry of which the file has nothing.
func (f File) Find(registry string) *Credentials {
	c, ok := f[registry]
	if !ok {
		return nil
	}
	return &c
}

// Parse reads the "auths" of a config.json of the docker client. Error: invalid,
// without any part of the text.
func Parse(text []byte) (File, error) {
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
	found := File{}
	for key, entry := range file.Auths {
		if entry.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(entry.Auth)
			name, password, ok := strings.Cut(string(plain), ":")
			if err != nil || !ok {
				return nil, berth.Errorf(berth.CodeInvalid, "the credentials of registry %s are malformed: auth must be name:password in base64", registryOf(key))
			}
			entry.Username, entry.Password = name, strings.TrimRight(password, "\x00")
		}
		found[registryOf(key)] = Credentials{
			Username: entry.Username, Password: berth.NewSecretValue([]byte(entry.Password)), IdentityToken: berth.NewSecretValue([]byte(entry.IdentityToken)),
		}
	}
	return found, nil
}

// registryOf is the host of a key, which may be a URL.
func registryOf(key string) string {
	host := key
	if u, err := url.Parse(key); err == nil && u.Host != "" {
		host = u.Host
	}
	host, _, _ = strings.Cut(host, "/")
	if host == hubKey {
		return Default
	}
	return host
}
