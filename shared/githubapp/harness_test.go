package githubapp_test

import (
	"errors"
	"io"
	"log/slog"

	"github.com/berth-dev/berth/shared/berth"
)

func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

// explained is all that an error tells a person.
func explained(err error) string {
	var e *berth.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return err.Error() + " " + e.Remediation
}
