//go:build linux

package daemon

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/hostagent"
)

func TestTheLogIsALineForEachThing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pairs []any
		want  string
	}{
		{"with nothing beside it", nil, ""},
		{"with plain values", []any{"sandbox", "sbx_1", "tries", 3}, " sandbox=sbx_1 tries=3"},
		{"with an error of two lines", []any{"error", errors.New("one\ntwo")}, ` error="one\ntwo"`},
		{"with an empty value", []any{"command", ""}, ` command=""`},
		{"with a value that looks like a pair", []any{"error", "a=b"}, ` error="a=b"`},
		{"with nil", []any{"error", nil}, " error=<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			logger := hostagent.LogWith(lineLogger{&out})
			logger.Debug("not written", c.pairs...)
			logger.Warn("went wrong", c.pairs...)
			if got, want := afterTime(t, out.String()), `level=WARN msg="went wrong"`+c.want+"\n"; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestALoggerAddsItsPairsToEverything(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	logger := hostagent.LogWith(lineLogger{&out}, "sandbox", "sbx_1")
	logger.Error("first", "n", 1)
	logger.Error("second", "n", 2)
	for i, want := range []string{`level=ERROR msg="first" sandbox=sbx_1 n=1`, `level=ERROR msg="second" sandbox=sbx_1 n=2`} {
		if got := afterTime(t, strings.Split(out.String(), "\n")[i]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func afterTime(t *testing.T, line string) string {
	t.Helper()
	first, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(first, "time=2") {
		t.Fatalf("%q does not begin with a time", line)
	}
	return rest
}
