package berth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxProblems is the most faults that one answer lists; a last entry counts the
// rest, so that a hostile input cannot make the answer larger than itself.
const MaxProblems = 100

// Problems collects faults up to MaxProblems. The zero value is ready.
type Problems struct {
	list    []Problem
	dropped int
}

// Addf adds one fault at a location.
func (p *Problems) Addf(location, format string, args ...any) {
	p.Add(Problem{location, fmt.Sprintf(format, args...)})
}

// AddError adds err's message at a location; nil adds nothing.
func (p *Problems) AddError(location string, err error) {
	if err != nil {
		p.Add(Problem{location, err.Error()})
	}
}

// Add adds faults that were found elsewhere.
func (p *Problems) Add(more ...Problem) {
	for _, m := range more {
		rest, isRest := m.Rest()
		switch {
		case isRest:
			p.dropped += rest
		case len(p.list) < MaxProblems:
			p.list = append(p.list, m)
		default:
			p.dropped++
		}
	}
}

// Rest reports whether p is the last entry of a list that was cut, and how many
// faults it stands for.
func (p Problem) Rest() (n int, ok bool) {
	if p.Location != "" {
		return 0, false
	}
	count, _ := strings.CutPrefix(p.Message, "and ")
	count, ok = strings.CutSuffix(count, " more")
	n, err := strconv.Atoi(count)
	return n, ok && err == nil
}

// Full reports that MaxProblems are listed: what is added now is only counted,
// so that its text need not be made.
func (p *Problems) Full() bool { return len(p.list) >= MaxProblems }

// Empty reports whether nothing was added.
func (p *Problems) Empty() bool { return len(p.list) == 0 }

// List returns the faults in the order in which they were added, and as a last
// entry how many more there were.
func (p *Problems) List() []Problem {
	if p.dropped == 0 {
		return p.list
	}
	return append(slices.Clip(p.list), Problem{"", fmt.Sprintf("and %d more", p.dropped)})
}

// Invalid collects problems into one error, or nil when there are none.
func Invalid(problems []Problem) error {
	return collected(CodeInvalid, problems, "are invalid")
}

// Unsupported collects what a provider cannot do into one error of that code,
// or nil when there is nothing.
func Unsupported(problems []Problem) error {
	return collected(CodeUnsupported, problems, "are not supported by the provider")
}

func collected(code Code, problems []Problem, are string) error {
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return &Error{Code: code, Message: problems[0].Message, Field: problems[0].Location, Problems: problems}
	}
	return &Error{Code: code, Message: fmt.Sprintf("%d fields %s", count(problems), are), Problems: problems}
}

// count is how many problems a list stands for.
func count(problems []Problem) int {
	if rest, cut := problems[len(problems)-1].Rest(); cut {
		return len(problems) - 1 + rest
	}
	return len(problems)
}
