package embedded_test

import (
	"encoding/json"
	"testing"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// dockerSite is a server with the machine's Docker engine. Nothing of it may be
// left in the engine at the test's end.
func dockerSite(t *testing.T) *site {
	t.Helper()
	image := dockertest.Image(t, dockertest.Debian)
	s := &site{process: startProcess(t, true), environment: "box", settings: map[string]any{
		"provider": "docker", "image": map[string]any{"docker": image},
	}}
	api := dockertest.Engine(t)
	installation := s.installation()
	t.Cleanup(func() { dockertest.NoneLeft(t, api, installation) })
	s.guests = func() []int { return guestPIDs(t, api, installation) }
	s.shown = func() map[string][]byte { return inspections(t, api, installation) }
	s.create(s.environment, nil)
	return s
}

func (p *process) installation() berth.InstallationID {
	p.t.Helper()
	version, err := p.Version(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return version.Installation
}

func guestPIDs(t *testing.T, api *client.Client, id berth.InstallationID) []int {
	var pids []int
	for _, c := range dockertest.Containers(t, api, id) {
		if c.State != nil && c.State.Pid > 0 {
			pids = append(pids, c.State.Pid)
		}
	}
	return pids
}

// inspections are what `docker inspect` shows of the containers.
func inspections(t *testing.T, api *client.Client, id berth.InstallationID) map[string][]byte {
	shown := map[string][]byte{}
	for _, c := range dockertest.Containers(t, api, id) {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		shown["docker inspect "+c.Name] = text
	}
	if len(shown) == 0 {
		t.Error("there is no container to inspect")
	}
	return shown
}
