package localstack_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/berth-dev/berth/localstack"
)

// composition is what the tests look at of compose.yaml.
type composition struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Ports       []string          `yaml:"ports"`
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		Healthcheck struct {
			Test []string `yaml:"test"`
		} `yaml:"healthcheck"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

func TestTheCompositionRunsThePinnedReleaseOnLoopback(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got composition
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	s, ok := got.Services["localstack"]
	if !ok || len(got.Services) != 1 {
		t.Fatalf("the services are %v, want localstack alone", got.Services)
	}
	_, version, _ := strings.Cut(s.Image, "${LOCALSTACK_VERSION:-")
	version = strings.TrimSuffix(version, "}")
	if version == "" || !bytes.Contains(localstack.Requirements, []byte("\nlocalstack-core=="+version+" ")) {
		t.Errorf("the image is %s, want the release of requirements.txt", s.Image)
	}
	for _, port := range s.Ports {
		if !strings.HasPrefix(port, "127.0.0.1:") {
			t.Errorf("port %s is open to others", port)
		}
	}
	if len(s.Ports) == 0 || len(s.Healthcheck.Test) == 0 {
		t.Errorf("ports %v, health check %v: want both", s.Ports, s.Healthcheck.Test)
	}
	for _, volume := range s.Volumes {
		source, _, _ := strings.Cut(volume, ":/")
		if _, named := got.Volumes[source]; !named && volume != ".:/opt/berth:ro" && !strings.HasPrefix(source, "${DOCKER_SOCKET:-") {
			t.Errorf("volume %s is neither named, the plugin nor the engine's socket", volume)
		}
	}
	if s.Environment["LOCALSTACK_AUTH_TOKEN"] != "${LOCALSTACK_AUTH_TOKEN:-}" {
		t.Errorf("the token is %q, want that of the caller's environment", s.Environment["LOCALSTACK_AUTH_TOKEN"])
	}
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() != nil {
		t.Log("docker has no compose here: it was not asked about the file")
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "docker", "compose", "-f", "compose.yaml", "config", "--quiet").CombinedOutput(); err != nil {
		t.Errorf("docker compose config = %v:\n%s", err, out)
	}
}
