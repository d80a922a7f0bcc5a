package registryauth_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/registryauth"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

func TestTheSecretIsReadAnewForEachPull(t *testing.T) {
	t.Parallel()
	secrets := &runnertest.Secrets{}
	find := registryauth.FromSecret(secrets)
	set := func(text string) {
		t.Helper()
		if err := secrets.Put(t.Context(), "user/DOCKER_AUTHS", berth.NewSecretValue([]byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := find(t.Context(), "docker.io"); got != nil || err != nil {
		t.Errorf("without a secret: %v, %v", got, err)
	}
	set(`{"auths": {"docker.io": {"username": "u", "password": "p"}}}`)
	if got, err := find(t.Context(), "docker.io"); err != nil || got == nil || got.Username != "u" {
		t.Errorf("with one: %v, %v", got, err)
	}
	set("canary")
	if _, err := find(t.Context(), "docker.io"); berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "DOCKER_AUTHS") || strings.Contains(err.Error(), "canary") {
		t.Errorf("with one of another form: %v", err)
	}
}
