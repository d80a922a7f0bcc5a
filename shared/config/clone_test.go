package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
)

func TestAGitTargetNeedsANetworkToBeFetchedBy(t *testing.T) {
	t.Parallel()
	git := &berth.Target{Kind: berth.TargetGit, Origin: "https://git.example/o/r", Branch: "main"}
	const rest = " leaves it no network: allow the network, choose target none, or set [run.clone] enabled = false"
	refused := func(setting string) *refusal {
		return &refusal{berth.CodeUnsupported, []berth.Problem{{
			Location: "target.kind", Message: "the code is fetched inside the sandbox, and " + setting + rest,
		}}}
	}
	for name, c := range map[string]struct {
		source string
		target *berth.Target
		want   *refusal
	}{
		"the network is open":             {"", git, nil},
		"the network is blocked":          {"[run.environment.network]\nmode = \"block\"\n", git, refused("network.mode = block")},
		"the container has none":          {"[run.environment.docker]\nnetwork_mode = \"none\"\n", git, refused("docker.network_mode = none")},
		"blocked, but nothing is fetched": {"[run.clone]\nenabled = false\n[run.environment.network]\nmode = \"block\"\n", git, nil},
		"blocked, and no code":            {"[run.environment.network]\nmode = \"block\"\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(project(c.source))
			in.Request.Target = c.target
			_, err := config.Resolve(in)
			if c.want == nil {
				if err != nil {
					t.Errorf("Resolve: %v", err)
				}
				return
			}
			if diff := cmp.Diff(*c.want, refusalOf(t, err)); diff != "" {
				t.Errorf("Resolve (-want +got)\n%s", diff)
			}
		})
	}
}
