//go:build linux

package main

import (
	"context"
	"os"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/registryauth"
)

// registries knows the credentials to pull with: those that the server has lent
// with a sandbox, which are kept in memory alone, else those of a file.
type registries struct {
	file string // in the form of the docker client's config.json; empty is none

	mu   sync.Mutex // guards lent
	lent map[string]registryauth.Credentials
}

// lend is told what the server has for a registry.
func (r *registries) lend(c agentapi.RegistryCredentials) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Empty() {
		delete(r.lent, c.Registry)
		return
	}
	if r.lent == nil {
		r.lent = map[string]registryauth.Credentials{}
	}
	r.lent[c.Registry] = registryauth.Credentials{
		Username: string(c.Username), Password: c.Password.SecretValue, IdentityToken: c.IdentityToken.SecretValue,
	}
}

// find is asked for each pull, so that the file may change while the agent runs.
func (r *registries) find(_ context.Context, registry string) (*registryauth.Credentials, error) {
	r.mu.Lock()
	lent, ok := r.lent[registry]
	r.mu.Unlock()
	if ok || r.file == "" {
		return ifAny(lent, ok), nil
	}
	file, err := r.read()
	if err != nil {
		return nil, err
	}
	return file.Find(registry), nil
}

func ifAny(c registryauth.Credentials, any bool) *registryauth.Credentials {
	if !any {
		return nil
	}
	return &c
}

// read reads the file. Errors: unavailable, invalid.
func (r *registries) read() (registryauth.File, error) {
	text, err := os.ReadFile(r.file)
	if err != nil {
		return nil, &berth.Error{
			Code: berth.CodeUnavailable, Message: "the registries' credentials in " + r.file + " cannot be read", Cause: err,
			Remediation: "Make the file that --docker-auth names readable for the agent's user.",
		}
	}
	return registryauth.Parse(text)
}
