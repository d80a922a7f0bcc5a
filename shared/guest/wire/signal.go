package wire

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
)

// The numbers are those of Linux on amd64 and arm64, where every guest runs.
var signalNames = [...]string{
	1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV",
	12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 16: "STKFLT", 17: "CHLD", 18: "CONT", 19: "STOP", 20: "TSTP", 21: "TTIN",
	22: "TTOU", 23: "URG", 24: "XCPU", 25: "XFSZ", 26: "VTALRM", 27: "PROF", 28: "WINCH", 29: "IO", 30: "PWR", 31: "SYS",
}

// SignalName is the signal's name without SIG, such as "KILL".
func SignalName(s syscall.Signal) string {
	if n := int(s); n > 0 && n < len(signalNames) {
		return signalNames[n]
	}
	return "RT" + strconv.Itoa(int(s))
}

// ParseSignal takes a name, with SIG or without. Errors: invalid.
func ParseSignal(name string) (syscall.Signal, error) {
	short := strings.TrimPrefix(name, "SIG")
	for n, known := range signalNames {
		if known != "" && known == short {
			return syscall.Signal(n), nil
		}
	}
	return 0, berth.FieldErrorf(berth.CodeInvalid, "signal", "must be the name of a signal, such as TERM, INT or KILL")
}

// Tombstone reports whether the signal, sent to a command that has not started,
// keeps it from ever starting.
func Tombstone(s syscall.Signal) bool {
	return s == syscall.SIGKILL || s == syscall.SIGTERM || s == syscall.SIGINT
}
