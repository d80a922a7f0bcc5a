package asl

import (
	"maps"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// Machine is a parsed state machine of the subset.
type Machine struct {
	Comment string
	StartAt string
	States  map[string]*State
}

// State is one state of any type; which fields a type has says [fieldsOf].
type State struct {
	Type    string `json:"Type"`
	Comment string `json:"Comment"`
	Next    string `json:"Next"`
	End     bool   `json:"End"`

	InputPath  string `json:"InputPath"`
	Parameters any    `json:"Parameters"`
	OutputPath string `json:"OutputPath"`
	// ResultPath is nil when the result is thrown away (null in the document).
	ResultPath *string `json:"ResultPath"`

	Resource         string    `json:"Resource"`
	ResultSelector   any       `json:"ResultSelector"`
	TimeoutSeconds   int       `json:"TimeoutSeconds"`
	HeartbeatSeconds int       `json:"HeartbeatSeconds"`
	Retry            []retrier `json:"Retry"`
	Catch            []catcher `json:"Catch"`

	Choices []rule `json:"Choices"`
	Default string `json:"Default"`

	Seconds     *int   `json:"Seconds"`
	SecondsPath string `json:"SecondsPath"`

	Result any `json:"Result"`

	Error string `json:"Error"`
	Cause string `json:"Cause"`
}

// retrier says when a failed task is tried again.
type retrier struct {
	ErrorEquals     []string `json:"ErrorEquals"`
	IntervalSeconds int      `json:"IntervalSeconds"`
	MaxAttempts     int      `json:"MaxAttempts"`
	BackoffRate     float64  `json:"BackoffRate"`
	MaxDelaySeconds int      `json:"MaxDelaySeconds"`
	JitterStrategy  string   `json:"JitterStrategy" enum:"FULL,NONE"`
}

// catcher says where a failed task goes on.
type catcher struct {
	ErrorEquals []string `json:"ErrorEquals"`
	ResultPath  *string  `json:"ResultPath"`
	Next        string   `json:"Next"`
}

var (
	everyState = []string{"Type", "Comment"}
	dataFlow   = []string{"Next", "End", "InputPath", "Parameters", "ResultPath", "OutputPath"}
	fieldsOf   = map[string][]string{
		"Task":    append([]string{"Resource", "ResultSelector", "TimeoutSeconds", "HeartbeatSeconds", "Retry", "Catch"}, dataFlow...),
		"Pass":    append([]string{"Result"}, dataFlow...),
		"Choice":  {"Choices", "Default"},
		"Wait":    {"Seconds", "SecondsPath", "Next", "End"},
		"Succeed": {},
		"Fail":    {"Error", "Cause"},
	}
)

// Parse reads a machine and refuses everything outside the subset, and every
// machine that cannot be right: transitions to nowhere, states that nothing
// reaches, a Choice without Default. Error: malformed, or invalid with all problems.
func Parse(definition []byte) (*Machine, error) {
	tree, repeated, err := strict.Tree(definition)
	if err != nil {
		return nil, err
	}
	p := &berth.Problems{}
	p.Add(repeated...)
	var document struct {
		Comment string                    `json:"Comment"`
		StartAt string                    `json:"StartAt"`
		States  map[string]map[string]any `json:"States"`
	}
	p.Add(strict.Decode(tree, &document, "")...)
	m := &Machine{Comment: document.Comment, StartAt: document.StartAt, States: map[string]*State{}}
	for name, fields := range document.States {
		m.States[name] = parseState(p, name, fields)
	}
	if p.Empty() {
		m.lint(p)
	}
	return m, berth.Invalid(p.List())
}

func statePath(name string) string { return berth.FieldPath("States", name) }

func parseState(p *berth.Problems, name string, fields map[string]any) *State {
	at := statePath(name)
	whole := "$"
	st := &State{InputPath: whole, OutputPath: whole, ResultPath: &whole}
	kind, _ := fields["Type"].(string)
	allowed, known := fieldsOf[kind]
	if !known {
		p.Addf(berth.FieldPath(at, "Type"), "must be Task, Choice, Wait, Pass, Succeed or Fail")
		return st
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case !slices.Contains(allowed, field) && !slices.Contains(everyState, field):
			p.Addf(berth.FieldPath(at, field), "is not in the subset of a %s state", kind)
			return st
		case fields[field] == nil && field != "ResultPath" && field != "Result":
			p.Addf(berth.FieldPath(at, field), "may not be null")
			return st
		}
	}
	p.Add(strict.Decode(fields, st, at)...)
	setDefaults(st, objects(fields["Retry"]), objects(fields["Catch"]))
	return st
}

// setDefaults fills what the document left out of Retry and Catch.
func setDefaults(st *State, retry, catch []map[string]any) {
	for i := range st.Retry {
		setDefault(retry[i], "IntervalSeconds", &st.Retry[i].IntervalSeconds, 1)
		setDefault(retry[i], "MaxAttempts", &st.Retry[i].MaxAttempts, 3)
		setDefault(retry[i], "BackoffRate", &st.Retry[i].BackoffRate, 2)
	}
	whole := "$"
	for i := range st.Catch {
		setDefault(catch[i], "ResultPath", &st.Catch[i].ResultPath, &whole)
	}
}

func setDefault[T any](fields map[string]any, name string, into *T, value T) {
	if _, there := fields[name]; !there {
		*into = value
	}
}

func objects(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i], _ = list[i].(map[string]any)
	}
	return out
}
