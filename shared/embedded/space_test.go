package embedded

import (
	"errors"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestARunNeedsSpaceForItsRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left int64
		err  error
		want berth.Code
	}{
		"a full disk":                       {left: 0, want: berth.CodeUnavailable},
		"one byte too few":                  {left: MinFreeBytes - 1, want: berth.CodeUnavailable},
		"just enough":                       {left: MinFreeBytes},
		"a disk that does not say how much": {err: errors.New("no such call")},
	} {
		err := checkSpace("/data", func(string) (int64, error) { return c.left, c.err })
		if got := berth.CodeOf(err); got != c.want {
			t.Errorf("%s: %v (%s), want %q", name, err, got, c.want)
		}
	}
	if left, err := FreeBytes(t.TempDir()); err != nil || left <= 0 {
		t.Errorf("FreeBytes() = %d, %v", left, err)
	}
}
