package wire

import (
	"syscall"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestSignalsHaveNames(t *testing.T) {
	t.Parallel()
	for n := syscall.Signal(1); n < 32; n++ {
		name := SignalName(n)
		for _, s := range []string{name, "SIG" + name} {
			if got, err := ParseSignal(s); err != nil || got != n {
				t.Errorf("ParseSignal(%q) = %d, %v; want %d", s, got, err, n)
			}
		}
	}
	if got := SignalName(35); got != "RT35" {
		t.Errorf("SignalName(35) = %q", got)
	}
	for _, s := range []string{"", "SIG", "term", "FOO", "9", "0"} {
		if _, err := ParseSignal(s); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("ParseSignal(%q): %v", s, err)
		}
	}
}
