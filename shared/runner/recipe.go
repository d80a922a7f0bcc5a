package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/berth-dev/berth/shared/berth"
)

// recipe is a hash of what of an environment is built into a sandbox: provider,
// image, resources, network, mounts, and the hosts that it may be on. Two environments of one recipe can use
// the same warm sandbox; variables come with each command.
func recipe(e berth.Environment) string {
	e = berth.NormalizeEnvironment(e)
	baked := struct {
		Provider  berth.ProviderKind
		Image     berth.Image
		Resources berth.Resources
		Network   berth.Network
		Docker    berth.DockerOptions
		Hosts     map[string]string `json:",omitempty"`
	}{e.Provider, e.Image, e.Resources, e.Network, berth.DockerOptions{}, berth.HostLabels(e)}
	if e.Docker != nil {
		baked.Docker = berth.DockerOptions{ExtraMounts: e.Docker.ExtraMounts, NetworkMode: e.Docker.NetworkMode}
	}
	b, err := json.Marshal(baked)
	if err != nil { // plain fields: none is beyond JSON
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
