package daytonaapi_test

import (
	"context"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

func TestDaytonaCanBeAskedWhetherItIsThere(t *testing.T) {
	t.Parallel()
	sandboxtest.Reach(t, func(url string, credential func(context.Context) (berth.SecretValue, error)) (*daytonaapi.Client, error) {
		return daytonaapi.New(daytonaapi.Config{URL: url, Key: credential})
	})
}
