package embedded

import (
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// startError is that of a server which ended as it started, from what it said on
// standard error: its last report becomes the error, as if it were the caller's own.
func startError(said string, log string, cause error) error {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i, line := range slices.Backward(lines) {
		rest, is := strings.CutPrefix(line, "berth: ")
		name, message, coded := strings.Cut(rest, ": ")
		code := berth.Code(name)
		if !is || !coded || code.Info().Code != code {
			continue
		}
		// That the process ended says nothing more.
		e := &berth.Error{Code: code, Message: "the server did not start: " + message}
		for j, more := range lines[i+1:] {
			if remedy, last := strings.CutPrefix(more, "  to do: "); last {
				e.Remediation = strings.Join(append([]string{remedy}, lines[i+2+j:]...), "\n")
				break
			}
			e.Message += "; " + strings.TrimSpace(more)
		}
		return e
	}
	e := &berth.Error{Code: berth.CodeUnavailable, Message: "the server ended as it started", Cause: cause, Remediation: "look into " + log}
	if text := strings.TrimSpace(said); text != "" {
		e.Message += ": " + text
	}
	return e
}
