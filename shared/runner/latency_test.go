package runner_test

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// BenchmarkRunOfTrue is a whole run, from its creation to its recorded end, on
// SQLite and a sandbox that costs nothing.
func BenchmarkRunOfTrue(b *testing.B) {
	bench := newBench(b, berth.SystemClock{})
	for b.Loop() {
		id := bench.create(definition("true"))
		bench.until(id, "ended", func(h records.Head) bool { return h.Status.Ended() })
	}
}
