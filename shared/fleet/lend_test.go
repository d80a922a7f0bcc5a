package fleet_test

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/fleet"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestAnAgentIsLentWhatTheSecretHasOrToldThatThereIsNothing(t *testing.T) {
	t.Parallel()
	secrets := &runnertest.Secrets{}
	lend := fleet.LendFrom(secrets)
	if got, err := lend(t.Context(), "docker.io"); err != nil || got.Registry != "docker.io" || !got.Empty() {
		t.Errorf("without a secret: %+v, %v", got, err)
	}
	text := `{"auths": {"docker.io": {"username": "u", "password": "p"}, "r:5000": {"identitytoken": "t"}}}`
	if err := secrets.Put(t.Context(), "user/DOCKER_AUTHS", berth.NewSecretValue([]byte(text))); err != nil {
		t.Fatal(err)
	}
	if got, err := lend(t.Context(), "docker.io"); err != nil || got.Username != "u" || string(got.Password.Reveal()) != "p" {
		t.Errorf("a password: %+v, %v", got, err)
	}
	if got, err := lend(t.Context(), "r:5000"); err != nil || string(got.IdentityToken.Reveal()) != "t" {
		t.Errorf("a token: %+v, %v", got, err)
	}
	if got, err := lend(t.Context(), "other"); err != nil || got.Registry != "other" || !got.Empty() {
		t.Errorf("another registry: %+v, %v", got, err)
	}
}
