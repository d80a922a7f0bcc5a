package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// A command prints a counter; the server is killed with -9 at a moment that a
// seed chooses, and started again. Nothing may be lost or doubled.
func TestKillingTheServerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("kills servers for half a minute")
	}
	const (
		moments = 20
		lines   = 60
		span    = 1200 * time.Millisecond // about what a run of lines takes
	)
	var want strings.Builder
	for i := 1; i <= lines; i++ {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	script := fmt.Sprintf(`for i in $(seq %d); do echo "line $i"; sleep 0.01; done`, lines)
	random := rand.New(rand.NewPCG(3, 14))
	server := startProcess(t, t.TempDir()+"/data", sandboxtest.BuildGuest(t))
	for moment := range moments {
		after := time.Duration(random.Int64N(int64(span)))
		created, err := server.CreateRun(t.Context(), berth.RunRequest{
			Environment: "local", Script: script, SourceDirectory: t.TempDir(),
		})
		if err != nil {
			t.Fatalf("moment %d: CreateRun: %v", moment, err)
		}
		time.Sleep(after)
		server.kill()
		server.start()
		run := server.awaitRun(created.ID)
		if run.Status != berth.RunSucceeded {
			t.Fatalf("moment %d, killed after %s: run %s is %s, %+v", moment, after, run.ID, run.Status, run.Reason)
		}
		got := server.log(run)
		if got.stdout.String() != want.String() || got.stderr.Len() != 0 {
			t.Fatalf("moment %d, killed after %s: the log is\n%s\nand on stderr\n%s", moment, after, &got.stdout, &got.stderr)
		}
	}
}
