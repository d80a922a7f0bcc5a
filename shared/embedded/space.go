package embedded

import (
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
)

// MinFreeBytes is what has to be free below the data folder for a run to begin:
// on a disk that is full, neither its output nor its end could be recorded.
const MinFreeBytes = 64 << 20

// checkSpace refuses a run (unavailable) for want of space, as free counts it.
// Where that is not known, runs take their chance.
func checkSpace(dir string, free func(dir string) (int64, error)) error {
	left, err := free(dir)
	if err != nil || left >= MinFreeBytes {
		return nil
	}
	return &berth.Error{
		Code:        berth.CodeUnavailable,
		Message:     fmt.Sprintf("the disk of the data folder %s has %d MiB left, and a run needs %d", dir, left>>20, MinFreeBytes>>20),
		Remediation: "Free some space, remove old runs with `berth runs rm`, or choose another --data-dir; nothing was changed.",
	}
}
