// Package runner drives runs: a state machine, and the tasks that its states
// call. The machine is one file for every wiring, the tasks are plain methods
// over the record; what interprets the machine is behind berth.Orchestrator.
package runner

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

//go:embed run.asl.json
var definition string

var substitution = regexp.MustCompile(`\$\{([A-Za-z]+)\}`)

// Definition returns the state machine with the resource of each task put in
// its place. A task without one keeps its plain name, by which the interpreter
// finds it. An entry that no task has is an error.
func Definition(arns map[string]string) ([]byte, error) {
	used := map[string]bool{}
	text := substitution.ReplaceAllStringFunc(definition, func(match string) string {
		name := strings.Trim(match, "${}")
		used[name] = true
		resource, given := arns[name]
		if !given {
			resource = name
		}
		quoted, err := json.Marshal(resource)
		if err != nil { // no string is beyond JSON
			panic(err)
		}
		return string(quoted[1 : len(quoted)-1])
	})
	for name := range arns {
		if !used[name] {
			return nil, fmt.Errorf("the state machine has no task %s", name)
		}
	}
	return []byte(text), nil
}
