package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// A command prints a counter; the server is killed with -9 at a moment that a
// seed chooses, and started again. Nothing may be lost or doubled.
func TestKillingTheServerLosesNothing(t *testing.T) {
	const (
		moments = 20
		lines   = 60
	)
	var want strings.Builder
	for i := 1; i <= lines; i++ {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	script := fmt.Sprintf(`for i in $(seq %d); do echo "line $i"; sleep 0.01; done`, lines)
	onEverySite(t, func(t *testing.T, s *site) {
		// The first run tells how long one takes, from its sandbox's making on.
		begun := time.Now()
		s.succeed(s.begin(script).ID)
		span := time.Since(begun)
		random := rand.New(rand.NewPCG(3, 14))
		for moment := range moments {
			after := time.Duration(random.Int64N(int64(span)))
			created := s.begin(script)
			time.Sleep(after)
			s.kill()
			s.start()
			run := s.awaitRun(created.ID)
			got := s.log(run)
			if run.Status != berth.RunSucceeded || got.stdout.String() != want.String() || got.stderr.Len() != 0 {
				t.Fatalf("moment %d, killed after %s: run %s is %s, %+v; its log is\n%s\nand on stderr\n%s",
					moment, after, run.ID, run.Status, run.Reason, &got.stdout, &got.stderr)
			}
		}
	})
}
