package asl

import (
	"encoding/json"
	"strings"
)

// rule is one choice: a comparison of what is at Variable, or a combination of
// rules. Exactly one operator is set.
type rule struct {
	Variable string `json:"Variable"`
	Next     string `json:"Next"`

	StringEquals             *string  `json:"StringEquals"`
	NumericEquals            *float64 `json:"NumericEquals"`
	NumericGreaterThanEquals *float64 `json:"NumericGreaterThanEquals"`
	BooleanEquals            *bool    `json:"BooleanEquals"`
	IsPresent                *bool    `json:"IsPresent"`

	And []rule `json:"And"`
	Or  []rule `json:"Or"`
	Not *rule  `json:"Not"`
}

// choose returns the state that a Choice goes to. Error: States.Runtime when a
// comparison finds nothing at its variable.
func (st *State) choose(s scope) (next string, failure *Error) {
	for _, r := range st.Choices {
		holds, err := r.holds(s)
		if err != nil {
			return "", err
		}
		if holds {
			return r.Next, nil
		}
	}
	return st.Default, nil
}

func (r rule) holds(s scope) (bool, *Error) {
	switch {
	case r.Not != nil:
		holds, err := r.Not.holds(s)
		return !holds, err
	case r.And != nil:
		return r.all(s, r.And, true)
	case r.Or != nil:
		holds, err := r.all(s, r.Or, false)
		return !holds, err
	}
	v, there := s.find(r.Variable)
	if r.IsPresent != nil {
		return there == *r.IsPresent, nil
	}
	if !there {
		return false, &Error{errRuntime, "nothing is at " + r.Variable}
	}
	return r.compare(v), nil
}

// all reports whether every rule gives want; it stops at the first that does not.
func (r rule) all(s scope, rules []rule, want bool) (bool, *Error) {
	for _, inner := range rules {
		holds, err := inner.holds(s)
		if err != nil || holds != want {
			return false, err
		}
	}
	return true, nil
}

// compare is false for a value of another type than the operator's.
func (r rule) compare(v any) bool {
	switch v := v.(type) {
	case string:
		return r.StringEquals != nil && v == *r.StringEquals
	case bool:
		return r.BooleanEquals != nil && v == *r.BooleanEquals
	case json.Number:
		n, err := v.Float64()
		return err == nil &&
			(r.NumericEquals != nil && n == *r.NumericEquals ||
				r.NumericGreaterThanEquals != nil && n >= *r.NumericGreaterThanEquals)
	}
	return false
}

// operators names the operators that are set.
func (r rule) operators() []string {
	var set []string
	for name, is := range map[string]bool{
		"StringEquals": r.StringEquals != nil, "NumericEquals": r.NumericEquals != nil,
		"NumericGreaterThanEquals": r.NumericGreaterThanEquals != nil, "BooleanEquals": r.BooleanEquals != nil,
		"IsPresent": r.IsPresent != nil, "And": r.And != nil, "Or": r.Or != nil, "Not": r.Not != nil,
	} {
		if is {
			set = append(set, name)
		}
	}
	return set
}

func (r rule) combines() bool { return r.And != nil || r.Or != nil || r.Not != nil }

func (r rule) inner() []rule {
	all := append(append([]rule{}, r.And...), r.Or...)
	if r.Not != nil {
		all = append(all, *r.Not)
	}
	return all
}

// isContext reports whether a path points into the context object.
func isContext(path string) bool { return strings.HasPrefix(path, "$$") }
