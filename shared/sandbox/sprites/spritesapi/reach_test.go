package spritesapi_test

import (
	"context"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritesapi"
)

func TestSpritesCanBeAskedWhetherTheyAreThere(t *testing.T) {
	t.Parallel()
	sandboxtest.Reach(t, func(url string, credential func(context.Context) (berth.SecretValue, error)) (*spritesapi.Client, error) {
		return spritesapi.New(spritesapi.Config{URL: url, Token: credential})
	})
}
