package berth

import "fmt"

// Effect says what a provider does with a field.
type Effect string

// The effects. The zero value means that the row says nothing about the provider.
const (
	EffectMapped  Effect = "mapped"  // Text says to what
	EffectWarning Effect = "warning" // ignored, and the user is told: Text is the message
	EffectError   Effect = "error"   // refused: Text is the message
	EffectIgnored Effect = "ignored" // without a word, as it has no meaning there
)

// Cell is what one provider does with one field. Note says more in the
// documentation, such as how a value is rounded.
type Cell struct {
	Effect Effect
	Text   string
	Note   string
	When   Condition // a warning or an error is told only then; empty is always
}

// Condition narrows a row to some environments, by name; see [Conditions].
type Condition string

// The conditions.
const (
	WithoutDockerfile Condition = "without image.dockerfile"
	BelowDockerMemory Condition = "below 6 MiB"
	MoreThanTenCIDRs  Condition = "more than 10 networks"
	HasIPv6           Condition = "with an IPv6 network"
	CopiesLocalFiles  Condition = "that copies a local file"
	OtherThanHosts    Condition = "with labels that choose no host"
)

// MappingRow is one line of the mapping: a field, or a field with one value,
// and what each provider does with it when it is set.
type MappingRow struct {
	Field string
	Value string    // only this value of the field; empty is any
	When  Condition // only then; empty is always
	Cells map[ProviderKind]Cell
}

// Title is the row's name in documents: network.mode = "block".
func (r MappingRow) Title() string {
	title := "`" + r.Field + "`"
	if r.Value != "" {
		title = fmt.Sprintf("`%s = %q`", r.Field, r.Value)
	}
	if r.When != "" {
		title += ", " + string(r.When)
	}
	return title
}

// Matches reports whether e sets what the row is about.
func (r MappingRow) Matches(e Environment) bool {
	value, set := e.field(r.Field)
	if !set || (r.Value != "" && r.Value != value) {
		return false
	}
	return r.When == "" || Conditions[r.When](e)
}

// MappingFor returns the rows about one field, in order, that say something of
// the provider.
func MappingFor(provider ProviderKind, field string) []MappingRow {
	var rows []MappingRow
	for _, r := range Mapping() {
		if r.Field == field && r.Cells[provider].Effect != "" {
			rows = append(rows, r)
		}
	}
	return rows
}

// CheckMapping tells what the environment's provider ignores and what it cannot
// do, by [Mapping], in its order. The errors' code is unsupported.
func CheckMapping(e Environment) (warnings, errors []Problem) {
	e = NormalizeEnvironment(e)
	said := map[string]bool{}
	for _, r := range Mapping() {
		cell := r.Cells[e.Provider]
		if cell.Effect != EffectWarning && cell.Effect != EffectError || !r.Matches(e) {
			continue
		}
		if cell.When != "" && !Conditions[cell.When](e) {
			continue
		}
		if said[r.Field+cell.Text] {
			continue
		}
		said[r.Field+cell.Text] = true
		if cell.Effect == EffectWarning {
			warnings = append(warnings, Problem{r.Field, cell.Text})
		} else {
			errors = append(errors, Problem{r.Field, cell.Text})
		}
	}
	return warnings, errors
}
