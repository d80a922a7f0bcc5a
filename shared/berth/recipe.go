package berth

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Recipe is a hash of what of an environment is built into a sandbox: provider,
// image, resources, network and mounts. Two environments of one recipe can use
// the same warm sandbox; variables come with each command.
func Recipe(e Environment) string {
	e = NormalizeEnvironment(e)
	baked := struct {
		Provider  ProviderKind
		Image     Image
		Resources Resources
		Network   Network
		Docker    DockerOptions
	}{e.Provider, e.Image, e.Resources, e.Network, DockerOptions{}}
	if e.Docker != nil {
		baked.Docker = DockerOptions{ExtraMounts: e.Docker.ExtraMounts, NetworkMode: e.Docker.NetworkMode}
	}
	b, err := json.Marshal(baked)
	if err != nil { // plain fields: none is beyond JSON
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// PoolSize is how many warm sandboxes an environment wants.
func PoolSize(e Environment) int {
	if e.Docker == nil {
		return 0
	}
	return e.Docker.PoolSize
}
