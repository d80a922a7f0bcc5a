package asl

import (
	"maps"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// WaitForTaskToken is the resource of a task that is done when somebody answers
// its token.
const WaitForTaskToken = "arn:aws:states:::lambda:invoke.waitForTaskToken"

// maxSeconds is Step Functions' limit on timeouts and waits.
const maxSeconds = 99_999_999

// stateErrors are the error names that begin with States. and exist.
var stateErrors = []string{
	errAll, errTaskFailed, errTimeout, errHeartbeat, "States.Permissions", errResultPath,
	errParameters, "States.NoChoiceMatched", errDataLimit, errRuntime,
}

func (m *Machine) lint(p *berth.Problems) {
	if m.States[m.StartAt] == nil {
		p.Addf("StartAt", "names no state")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.States)) {
		m.lintState(p, statePath(name), m.States[name])
	}
	m.lintReach(p)
}

func (m *Machine) lintState(p *berth.Problems, at string, st *State) {
	switch st.Type {
	case "Task":
		m.lintTask(p, at, st)
	case "Pass":
		lintTemplate(p, at+".Parameters", st.Parameters, false)
	case "Choice":
		m.lintChoice(p, at, st)
	case "Wait":
		if (st.Seconds == nil) == (st.SecondsPath == "") {
			p.Addf(at, "needs one of Seconds and SecondsPath")
		}
		if st.Seconds != nil && (*st.Seconds < 0 || *st.Seconds > maxSeconds) {
			p.Addf(at+".Seconds", "must be 0 to %d", maxSeconds)
		}
		if st.SecondsPath != "" {
			lintPath(p, at+".SecondsPath", st.SecondsPath)
		}
	}
	switch st.Type {
	case "Task", "Pass", "Wait":
		if st.End == (st.Next != "") {
			p.Addf(at, "needs one of Next and End")
		} else if !st.End {
			m.lintNext(p, at+".Next", st.Next)
		}
		lintPath(p, at+".InputPath", st.InputPath)
		lintPath(p, at+".OutputPath", st.OutputPath)
		if st.ResultPath != nil {
			lintPath(p, at+".ResultPath", *st.ResultPath)
		}
	}
}

func (m *Machine) lintTask(p *berth.Problems, at string, st *State) {
	template := st.Parameters
	switch {
	case st.Resource == "":
		p.Addf(at, "needs a Resource")
	case strings.Contains(st.Resource, "${"):
		p.Addf(at+".Resource", "has a substitution that was not made")
	case st.waits():
		object, _ := st.Parameters.(map[string]any)
		name, _ := object["FunctionName"].(string)
		payload, there := object["Payload"]
		if name == "" || !there || len(object) != 2 {
			p.Addf(at+".Parameters", "must have FunctionName and Payload, and nothing else")
		}
		if !mentions(payload, contextTaskToken) {
			p.Addf(at+".Parameters", "do not pass %s on, so nobody could answer", contextTaskToken)
		}
		template = payload
	case strings.HasPrefix(st.Resource, "arn:aws:states:"):
		p.Addf(at+".Resource", "is no function and not %s", WaitForTaskToken)
	}
	lintTemplate(p, at+".Parameters", template, st.waits())
	lintTemplate(p, at+".ResultSelector", st.ResultSelector, false)
	for field, seconds := range map[string]int{"TimeoutSeconds": st.TimeoutSeconds, "HeartbeatSeconds": st.HeartbeatSeconds} {
		if seconds < 0 || seconds > maxSeconds {
			p.Addf(at+"."+field, "must be 1 to %d", maxSeconds)
		}
	}
	if st.HeartbeatSeconds > 0 && st.TimeoutSeconds > 0 && st.HeartbeatSeconds >= st.TimeoutSeconds {
		p.Addf(at+".HeartbeatSeconds", "must be less than TimeoutSeconds")
	}
	for i, r := range st.Retry {
		where := berth.IndexPath(at+".Retry", i)
		lintErrors(p, where, r.ErrorEquals, i == len(st.Retry)-1)
		if r.IntervalSeconds < 1 || r.MaxAttempts < 0 || r.BackoffRate < 1 || r.MaxDelaySeconds < 0 {
			p.Addf(where, "needs IntervalSeconds of 1 or more, MaxAttempts of 0 or more and a BackoffRate of 1 or more")
		}
		if r.MaxDelaySeconds > 0 && r.MaxDelaySeconds <= r.IntervalSeconds {
			p.Addf(where+".MaxDelaySeconds", "must be more than IntervalSeconds")
		}
	}
	for i, c := range st.Catch {
		where := berth.IndexPath(at+".Catch", i)
		lintErrors(p, where, c.ErrorEquals, i == len(st.Catch)-1)
		m.lintNext(p, where+".Next", c.Next)
		if c.ResultPath != nil {
			lintPath(p, where+".ResultPath", *c.ResultPath)
		}
	}
}

func (m *Machine) lintChoice(p *berth.Problems, at string, st *State) {
	if st.Default == "" {
		p.Addf(at, "needs a Default")
	} else {
		m.lintNext(p, at+".Default", st.Default)
	}
	if len(st.Choices) == 0 {
		p.Addf(at, "needs at least one choice")
	}
	for i, r := range st.Choices {
		where := berth.IndexPath(at+".Choices", i)
		m.lintNext(p, where+".Next", r.Next)
		lintRule(p, where, r)
	}
}

func lintRule(p *berth.Problems, at string, r rule) {
	if n := len(r.operators()); n != 1 {
		p.Addf(at, "needs exactly one operator of the subset, not %d", n)
		return
	}
	if r.combines() == (r.Variable != "") {
		p.Addf(at, "needs a Variable for a comparison, and none for And, Or and Not")
	}
	if r.Variable != "" {
		lintPath(p, at+".Variable", r.Variable)
	}
	for i, inner := range r.inner() {
		where := berth.IndexPath(at, i)
		if inner.Next != "" {
			p.Addf(where+".Next", "stands at the outermost rule only")
		}
		lintRule(p, where, inner)
	}
}

func lintErrors(p *berth.Problems, at string, names []string, last bool) {
	if len(names) == 0 {
		p.Addf(at, "needs ErrorEquals")
	}
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, "States.") && !slices.Contains(stateErrors, name):
			p.Addf(at+".ErrorEquals", "has %s, which is no error of Step Functions", name)
		case name == errAll && (len(names) > 1 || !last):
			p.Addf(at+".ErrorEquals", "has %s, which must stand alone and last", errAll)
		}
	}
}

// lintNext checks that a transition leads somewhere.
func (m *Machine) lintNext(p *berth.Problems, at, name string) {
	if m.States[name] == nil {
		p.Addf(at, "names no state")
	}
}

func lintPath(p *berth.Problems, at, path string) {
	if !pathPattern.MatchString(path) {
		p.Addf(at, "must be $ or names behind dots, such as $.run")
	}
}

func lintTemplate(p *berth.Problems, at string, template any, hasToken bool) {
	switch t := template.(type) {
	case map[string]any:
		for key, value := range t {
			where := berth.FieldPath(at, key)
			if !strings.HasSuffix(key, ".$") {
				lintTemplate(p, where, value, hasToken)
				continue
			}
			path, _ := value.(string)
			switch {
			case path == contextTaskToken && !hasToken:
				p.Addf(where, "there is a task token only behind %s", WaitForTaskToken)
			case isContext(path) && !slices.Contains(contextPaths, path):
				p.Addf(where, "the context object has %s in this subset", strings.Join(contextPaths, ", "))
			case !isContext(path):
				lintPath(p, where, path)
			}
		}
	case []any:
		for i, value := range t {
			lintTemplate(p, berth.IndexPath(at, i), value, hasToken)
		}
	}
}

func mentions(template any, path string) bool {
	switch t := template.(type) {
	case string:
		return t == path
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(t)), func(v any) bool { return mentions(v, path) })
	case []any:
		return slices.ContainsFunc(t, func(v any) bool { return mentions(v, path) })
	}
	return false
}

// lintReach finds states that nothing leads to, and machines without an end.
func (m *Machine) lintReach(p *berth.Problems) {
	reached := map[string]bool{}
	ends := false
	for queue := []string{m.StartAt}; len(queue) > 0; queue = queue[1:] {
		st := m.States[queue[0]]
		if st == nil || reached[queue[0]] {
			continue
		}
		reached[queue[0]] = true
		ends = ends || st.End || st.Type == "Succeed" || st.Type == "Fail"
		queue = append(queue, st.successors()...)
	}
	for _, name := range slices.Sorted(maps.Keys(m.States)) {
		if !reached[name] {
			p.Addf(statePath(name), "is reached from nowhere")
		}
	}
	if !ends {
		p.Addf("States", "have no end that is reached")
	}
}

func (st *State) successors() []string {
	next := []string{st.Next, st.Default}
	for _, c := range st.Catch {
		next = append(next, c.Next)
	}
	for _, r := range st.Choices {
		next = append(next, r.Next)
	}
	return slices.DeleteFunc(next, func(s string) bool { return s == "" })
}

// waits reports whether the task is done only when its token is answered.
func (st *State) waits() bool { return st.Resource == WaitForTaskToken }

// function is the name that the state's task is found by.
func (st *State) function() string {
	if !st.waits() {
		return st.Resource
	}
	object, _ := st.Parameters.(map[string]any)
	name, _ := object["FunctionName"].(string)
	return name
}
