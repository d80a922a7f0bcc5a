//go:build linux

package docker

import (
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"

	"github.com/berth-dev/berth/shared/berth"
)

// An engine that stops a container writes 255 over 137 now and then.
func TestTheEndOfAContainerThatWasKilledSaysSoWithAndWithoutItsStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{137: "killed from outside", 255: "killed from outside", 2: "status 2"} {
		reason := endReason(container.InspectResponse{State: &container.State{ExitCode: status}})
		if reason.Code != berth.ReasonLost || !strings.Contains(reason.Message, want) {
			t.Errorf("status %d: %+v, want %q", status, reason, want)
		}
	}
}
