package httpapi

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// allFaults adds to the faults of a body's form those of what could be decoded,
// so that they need not be found one round after another.
func allFaults(err error, e berth.Environment) error {
	return allFaultsOf(err, func() []berth.Problem { return berth.ValidateEnvironment(e) })
}

// allFaultsOf is allFaults for a body with rules of its own.
func allFaultsOf(err error, rules func() []berth.Problem) error {
	var decoding *berth.Error
	if !errors.As(err, &decoding) || decoding.Code != berth.CodeInvalid {
		return err
	}
	seen := map[string]bool{}
	var p berth.Problems
	for _, problem := range decoding.Problems {
		if problem.Location == "" { // it is no object at all
			return err
		}
		p.Add(problem)
		seen[problem.Location] = true
	}
	for _, problem := range rules() {
		// A field of the wrong type was not decoded; that it is missing is no news.
		if !seen[problem.Location] {
			p.Add(problem)
		}
	}
	return berth.Invalid(p.List())
}

// unknownNulls finds the unknown keys of a merge patch whose value is null: the
// merge drops them, and with them the chance to notice a typing mistake.
func unknownNulls(patch any, t reflect.Type, path string) []berth.Problem {
	object, ok := patch.(map[string]any)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !ok || t.Kind() != reflect.Struct {
		return nil
	}
	var problems []berth.Problem
	for _, key := range slices.Sorted(maps.Keys(object)) {
		field, known := jsonField(t, key)
		switch {
		case known:
			problems = append(problems, unknownNulls(object[key], field, berth.FieldPath(path, key))...)
		case object[key] == nil:
			// The decoder has the words for it, and the nearest known key.
			alone := map[string]any{key: nil}
			problems = append(problems, strict.Decode(alone, reflect.New(t).Interface(), path)...)
		}
	}
	return problems
}

func jsonField(t reflect.Type, key string) (reflect.Type, bool) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name == key {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}
