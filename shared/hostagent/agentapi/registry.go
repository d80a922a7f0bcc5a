package agentapi

import "github.com/berth-dev/berth/shared/guest/wire"

// RegistryCredentials are for the registry of a sandbox's image. They travel with
// the request that makes the sandbox, as the agent has no store of secrets; with
// neither password nor token they say that there are none any more.
type RegistryCredentials struct {
	Registry      string    `json:"registry"` // such as docker.io or host:5000
	Username      wire.Text `json:"username"`
	Password      Secret    `json:"password"`
	IdentityToken Secret    `json:"identity_token"`
}

// Empty reports that there is nothing to log in with.
func (c RegistryCredentials) Empty() bool { return c.Password.Len() == 0 && c.IdentityToken.Len() == 0 }
