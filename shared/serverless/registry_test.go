package serverless

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestAgentsAreLentCredentialsByAllButTheSweeper(t *testing.T) {
	t.Parallel()
	secrets := &runnertest.Secrets{}
	text := `{"auths": {"docker.io": {"username": "u", "password": "p"}}}`
	if err := secrets.Put(t.Context(), "user/DOCKER_AUTHS", berth.NewSecretValue([]byte(text))); err != nil {
		t.Fatal(err)
	}
	lend := lending(secrets)
	if got, err := lend(t.Context(), "docker.io"); err != nil || got.Registry != "docker.io" || string(got.Password.Reveal()) != "p" {
		t.Errorf("a task lends %+v, %v", got, err)
	}
	if got, err := lend(withoutLending(t.Context()), "docker.io"); err != nil || got.Registry != "" || !got.Empty() {
		t.Errorf("the sweeper lends %+v, %v", got, err)
	}
}
