package httpapi

import (
	"errors"
	"fmt"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
)

// faults collects what is wrong with a request, so that all of it is answered
// at once. An error of another kind than invalid goes before.
type faults struct {
	problems berth.Problems
	other    error
}

func (f *faults) addf(location, format string, args ...any) {
	f.problems.Addf(location, format, args...)
}

// add takes in an error at a location of the request; nil is none.
func (f *faults) add(location string, err error) {
	if err == nil {
		return
	}
	var e *berth.Error
	switch {
	case !errors.As(err, &e) || e.Code != berth.CodeInvalid:
		if f.other == nil {
			f.other = err
		}
	case len(e.Problems) > 0:
		f.problems.Add(e.Problems...)
	default:
		f.problems.Addf(location, "%s", e.Message)
	}
}

func (f *faults) err() error {
	if f.other != nil {
		return f.other
	}
	return berth.Invalid(f.problems.List())
}

// at names the place of an error whose message is about one value.
func at(location string, err error) error {
	var e *berth.Error
	if !errors.As(err, &e) {
		return err
	}
	named := *e
	named.Field = location
	return &named
}

// inQuery is at for what came as a query parameter and is named without its place.
func inQuery(err error) error {
	var e *berth.Error
	if errors.As(err, &e) && slices.Contains([]string{"path", "offset", "limit", "guard", "mode"}, e.Field) {
		return at("query."+e.Field, err)
	}
	return err
}

func sizeText(bytes int64) string {
	switch {
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
