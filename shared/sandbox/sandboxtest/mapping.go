package sandboxtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

// Mapping holds a provider to each cell of [berth.Mapping] that is about it: a mapped
// field is seen at the provider's service, an ignored one is warned of and changes
// nothing, a refused one is refused before anything is asked of the service.
type Mapping struct {
	Kind berth.ProviderKind
	// Fields let an environment set what a row is about, by the row's title without
	// its quotes. Where one is missing, the suite's own serves.
	Fields map[string]func(*berth.Environment)
	// Seen looks for what became of a mapped field, by the title too. Each mapped row
	// needs an entry; it is nil where nothing can be seen.
	Seen map[string]Look
	// Said is what a refusal says where that is not the cell's text to the letter.
	Said map[string]string
	// Open makes what one row is tried on. It may let the test run in parallel.
	Open func(t *testing.T, effect berth.Effect) MappingRig
}

// Look returns what came of a field, and what should have.
type Look func(t *testing.T, m Mapped) (got, want any)

// MappingRig is a provider for one row.
type MappingRig struct {
	Provider berth.Provider
	Spec     func(testing.TB) berth.SandboxSpec
	// Calls counts what was asked of the provider's service so far.
	Calls func() int
	// Gone fails the test when anything is left of a destroyed sandbox; it is nil
	// where a cleanup looks.
	Gone func(*testing.T, berth.SandboxID)
}

// Mapped is the sandbox of one row.
type Mapped struct {
	Provider berth.Provider
	Spec     berth.SandboxSpec
	State    berth.SandboxState
	sandbox  *sandbox
}

// Output is what a script prints that has the environment's variables.
func (m Mapped) Output(t testing.TB, script string) string {
	t.Helper()
	return m.sandbox.run(t, berth.CommandSpec{Script: script, Env: m.Spec.Environment.Env}).stdout
}

// RunMapping tests each row.
func RunMapping(t *testing.T, m Mapping) {
	titles := map[string]bool{}
	for _, row := range berth.Mapping() {
		cell, title := row.Cells[m.Kind], strings.ReplaceAll(row.Title(), "`", "")
		if cell.Effect == "" || titles[title] {
			continue
		}
		titles[title] = true
		t.Run(title, func(t *testing.T) { m.test(t, row.Field, title, cell) })
	}
	if len(titles) == 0 {
		t.Errorf("the mapping has no row about %s", m.Kind)
	}
	for title := range m.Fields {
		if !titles[title] {
			t.Errorf("%s is no row of the mapping", title)
		}
	}
	for title := range m.Seen {
		if !titles[title] {
			t.Errorf("%s is no row of the mapping", title)
		}
	}
}

func (m Mapping) test(t *testing.T, field, title string, cell berth.Cell) {
	set := m.Fields[title]
	if set == nil {
		set = fields[title]
	}
	look, known := m.Seen[title]
	if set == nil || !known && cell.Effect == berth.EffectMapped && title != "env" {
		t.Fatalf("the row %s has no test", title)
	}
	rig := m.Open(t, cell.Effect)
	s := &sandbox{Fixture: Fixture{Provider: rig.Provider}}
	spec := rig.Spec(t)
	spec.Environment.Provider = m.Kind
	set(&spec.Environment)
	told := berth.Problem{Location: field, Message: cell.Text}
	warnings, faults := berth.CheckMapping(spec.Environment)
	if slices.Contains(warnings, told) != (cell.Effect == berth.EffectWarning) || slices.Contains(faults, told) != (cell.Effect == berth.EffectError) {
		t.Errorf("warnings %v, errors %v; want %s: %s", warnings, faults, cell.Effect, cell.Text)
	}
	before := rig.Calls()
	if cell.Effect == berth.EffectError {
		said := cell.Text
		if other, ok := m.Said[title]; ok {
			said = other
		}
		state, err := rig.Provider.Provision(ctx(t), spec)
		if berth.CodeOf(err) != berth.CodeUnsupported || !strings.Contains(err.Error(), said) || rig.Calls() != before {
			t.Errorf("Provision = %+v, %v after %d calls; want unsupported before any", state, err, rig.Calls()-before)
		}
		return
	}
	state := s.provision(t, spec)
	s.ref = berth.SandboxRef{ID: spec.ID, Ref: state.Ref}
	mapped := Mapped{Provider: rig.Provider, Spec: spec, State: state, sandbox: s}
	if look == nil && title == "env" {
		look = seesVariable
	}
	if look != nil {
		got, want := look(t, mapped)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what came of it (-want +got):\n%s", diff)
		}
	}
	if err := rig.Provider.Destroy(ctx(t), s.ref); err != nil {
		t.Errorf("Destroy: %v", err)
	}
	if rig.Gone != nil {
		rig.Gone(t, spec.ID)
	}
}

func seesVariable(t *testing.T, m Mapped) (got, want any) {
	return m.Output(t, `printf %s "$GREETING"`), m.Spec.Environment.Env["GREETING"]
}
