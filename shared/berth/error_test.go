package berth_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestEveryCodeHasOneRowAndAKnownStatus(t *testing.T) {
	t.Parallel()
	seen := map[berth.Code]bool{}
	for _, row := range berth.Codes {
		if seen[row.Code] {
			t.Errorf("%s is in the table twice", row.Code)
		}
		seen[row.Code] = true
		if row.HTTP < 400 || row.HTTP > 599 || row.CLI < 1 || row.CLI > 6 || row.Title == "" || row.Remedy == "" {
			t.Errorf("%s has an incomplete row: %+v", row.Code, row)
		}
		if got := row.Code.Info(); got != row {
			t.Errorf("%s.Info() = %+v, want %+v", row.Code, got, row)
		}
	}
}

func TestAnUnknownCodeOrStatusIsInternal(t *testing.T) {
	t.Parallel()
	if got := berth.Code("odd").Info().HTTP; got != 500 {
		t.Errorf("status of an unknown code = %d, want 500", got)
	}
	if got := berth.CodeForHTTP(418); got != berth.CodeInternal {
		t.Errorf("CodeForHTTP(418) = %s, want internal", got)
	}
	if got := berth.CodeForHTTP(409); got != berth.CodeConflict {
		t.Errorf("CodeForHTTP(409) = %s, want conflict", got)
	}
}

func TestAnErrorKeepsItsCodeThroughWraps(t *testing.T) {
	t.Parallel()
	base := berth.FieldErrorf(berth.CodeInvalid, "resources.cpu", "must be %d or more", 1)
	err := fmt.Errorf("reading b: %w", berth.Wrap(base, "creating environment ci"))
	if got := berth.CodeOf(err); got != berth.CodeInvalid {
		t.Errorf("CodeOf = %s, want invalid", got)
	}
	if got, want := err.Error(), "reading b: creating environment ci: resources.cpu: must be 1 or more"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if berth.CodeOf(errors.New("x")) != berth.CodeInternal || berth.CodeOf(nil) != "" || berth.Wrap(nil, "x") != nil {
		t.Error("an uncoded error must be internal, nil nothing")
	}
}

func TestInvalidTellsOneOrAllProblems(t *testing.T) {
	t.Parallel()
	if err := berth.Invalid(nil); err != nil {
		t.Errorf("Invalid(nil) = %v", err)
	}
	one := berth.Invalid([]berth.Problem{{Location: "id", Message: "is wrong"}})
	if got, want := one.Error(), "id: is wrong"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	two := berth.Invalid([]berth.Problem{{Location: "id", Message: "is wrong"}, {Message: "is late"}})
	if got, want := two.Error(), "2 fields are invalid; id: is wrong; is late"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestACauseIsForTheLog(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk on fire")
	err := &berth.Error{Code: berth.CodeUnavailable, Message: "try later", Cause: cause}
	if !errors.Is(err, cause) || err.Error() != "try later: disk on fire" {
		t.Errorf("Error() = %q", err.Error())
	}
}

func TestACallerLearnsNothingOfWhatHasNoCode(t *testing.T) {
	t.Parallel()
	given := &berth.Error{Code: berth.CodeConflict, Message: "taken", Remediation: "wait"}
	for name, c := range map[string]struct {
		err  error
		want berth.Error
	}{
		"an error of berth's, wrapped":    {fmt.Errorf("doing: %w", given), *given},
		"a request that was given up":     {fmt.Errorf("doing: %w", context.Canceled), berth.Error{Code: berth.CodeUnavailable, Message: "the request was given up"}},
		"a request that took too long":    {context.DeadlineExceeded, berth.Error{Code: berth.CodeTimedOut, Message: "the request took too long"}},
		"any other error":                 {errors.New("password is x"), berth.Error{Code: berth.CodeInternal, Message: "see the log"}},
		"an internal one":                 {&berth.Error{Code: berth.CodeInternal, Message: "x", Field: "y", Remediation: "z"}, berth.Error{Code: berth.CodeInternal, Message: "see the log"}},
		"one with a code that is unknown": {&berth.Error{Code: "odd", Message: "x"}, berth.Error{Code: berth.CodeInternal, Message: "see the log"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := berth.Shown(c.err, "see the log"); !reflect.DeepEqual(*got, c.want) {
				t.Errorf("Shown = %+v, want %+v", *got, c.want)
			}
		})
	}
}
