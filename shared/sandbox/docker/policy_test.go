package docker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func dockerEnvironment(o berth.DockerOptions, mode berth.NetworkMode) berth.Environment {
	return berth.Environment{Provider: berth.ProviderDocker, Docker: &o, Network: berth.Network{Mode: mode}}
}

func TestMountsAreWhatTheServerAllowsThroughEveryLink(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"allowed/below", "allowedly", "other", "data/containers", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "run/docker.sock")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"allowed/to-other": filepath.Join(dir, "other"), "allowed/to-root": "/", "allowed/to-socket": socket, "allowed/up": "../other",
		"to-allowed": filepath.Join(dir, "allowed"), "allowed/to-data": filepath.Join(dir, "data"), "allowed/inside": "below",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	policy := Policy{Mounts: []string{filepath.Join(dir, "to-allowed"), "/not/there"}}
	everything := Policy{Mounts: []string{"/"}}
	guarded := []string{socket, filepath.Join(dir, "data/containers")}
	in := func(path string) string { return filepath.Join(dir, path) + ":/mnt" }
	for _, tt := range []struct {
		name   string
		policy Policy
		mount  string
		want   []bind
		code   berth.Code
	}{
		{"what is on the list", policy, in("allowed"), []bind{{Source: filepath.Join(dir, "allowed"), Target: "/mnt"}}, ""},
		{"what is below it, read-only", policy, in("allowed/below") + ":ro", []bind{{Source: filepath.Join(dir, "allowed/below"), Target: "/mnt", ReadOnly: true}}, ""},
		{"a link that stays inside", policy, in("allowed/inside"), []bind{{Source: filepath.Join(dir, "allowed/below"), Target: "/mnt"}}, ""},
		{"a name that only begins alike", policy, in("allowedly"), nil, berth.CodeForbidden},
		{"what is not on the list", policy, in("other"), nil, berth.CodeForbidden},
		{"a link that leads out", policy, in("allowed/to-other"), nil, berth.CodeForbidden},
		{"a relative link that leads out", policy, in("allowed/up"), nil, berth.CodeForbidden},
		{"a path that is not there", policy, in("allowed/none"), nil, berth.CodeInvalid},
		{"no list", Policy{}, in("allowed"), nil, berth.CodeForbidden},
		{"the root, although all is allowed", everything, "/:/mnt", nil, berth.CodeForbidden},
		{"a link to the root", everything, in("allowed/to-root"), nil, berth.CodeForbidden},
		{"the engine's socket", everything, in("run/docker.sock"), nil, berth.CodeForbidden},
		{"a link to the socket", everything, in("allowed/to-socket"), nil, berth.CodeForbidden},
		{"the socket's folder", everything, in("run"), nil, berth.CodeForbidden},
		{"the server's data", everything, in("data/containers"), nil, berth.CodeForbidden},
		{"what holds the server's data", everything, in("allowed/to-data"), nil, berth.CodeForbidden},
		{"over the guest", policy, filepath.Join(dir, "allowed") + ":/run/berth-guest", nil, berth.CodeInvalid},
		{"over the agent's folder", policy, filepath.Join(dir, "allowed") + ":/run/berth/x", nil, berth.CodeInvalid},
		{"over what holds both", policy, filepath.Join(dir, "allowed") + ":/run", nil, berth.CodeInvalid},
		{"over the kernel's files", policy, filepath.Join(dir, "allowed") + ":/proc/x", nil, berth.CodeInvalid},
		{"into the devices' folder", policy, filepath.Join(dir, "allowed") + ":/dev/x", []bind{{Source: filepath.Join(dir, "allowed"), Target: "/dev/x"}}, ""},
		{"a relative path", policy, "allowed:/mnt", nil, berth.CodeInvalid},
	} {
		got, err := tt.policy.binds(dockerEnvironment(berth.DockerOptions{ExtraMounts: []string{tt.mount}}, ""), guarded)
		if diff := cmp.Diff(tt.want, got); diff != "" || berth.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %q (-want +got):\n%s", tt.name, err, tt.code, diff)
		}
	}
}

func TestNetworksAreFreeOrOnTheList(t *testing.T) {
	t.Parallel()
	policy := Policy{NetworkModes: []string{"host", "mine"}}
	for _, tt := range []struct {
		name  string
		asked string
		mode  berth.NetworkMode
		want  string
		code  berth.Code
	}{
		{"the default", "", berth.NetworkAllowAll, "default", ""},
		{"the bridge", "bridge", berth.NetworkAllowAll, "bridge", ""},
		{"none", "none", berth.NetworkAllowAll, "none", ""},
		{"blocked", "", berth.NetworkBlock, "none", ""},
		{"blocked in both words", "none", berth.NetworkBlock, "none", ""},
		{"blocked and another", "host", berth.NetworkBlock, "", berth.CodeInvalid},
		{"one on the list", "host", berth.NetworkAllowAll, "host", ""},
		{"a network of a name", "mine", berth.NetworkAllowAll, "mine", ""},
		{"another's", "container:x", berth.NetworkAllowAll, "", berth.CodeForbidden},
		{"CIDRs", "", berth.NetworkCIDRAllowList, "", berth.CodeUnsupported},
	} {
		got, err := policy.network(dockerEnvironment(berth.DockerOptions{NetworkMode: tt.asked}, tt.mode))
		if got != tt.want || berth.CodeOf(err) != tt.code {
			t.Errorf("%s: %q, %v; want %q, %q", tt.name, got, err, tt.want, tt.code)
		}
	}
}
