package main

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// mapping renders the provider mapping: two tables of three providers, one of
// the provider objects, and what users are told.
func mapping() string {
	var b strings.Builder
	var plain, own []berth.MappingRow
	for _, r := range berth.Mapping() {
		if owner(r) == "" {
			plain = append(plain, r)
		} else {
			own = append(own, r)
		}
	}
	n := &notes{}
	table(&b, n, plain, berth.ProviderKinds[:3])
	table(&b, n, plain, berth.ProviderKinds[3:])
	b.WriteString("Provider objects, each an error on every other provider:\n\n| Field | Means | |\n|---|---|---|\n")
	for _, r := range own {
		if cell, ok := r.Cells[owner(r)]; ok && strings.Contains(r.Field, ".") {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Title(), cell.Text, cell.Note)
		}
	}
	n.write(&b)
	messages(&b, plain)
	return b.String()
}

// owner is the provider whose object a row is about, if it is about one.
func owner(r berth.MappingRow) berth.ProviderKind {
	name, _, _ := strings.Cut(r.Field, ".")
	if kind := berth.ProviderKind(name); kind.Known() {
		return kind
	}
	return ""
}

func table(b *strings.Builder, n *notes, rows []berth.MappingRow, providers []berth.ProviderKind) {
	b.WriteString("| Environment field |")
	for _, kind := range providers {
		fmt.Fprintf(b, " `%s` |", kind)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(providers)) + "\n")
	for _, r := range rows {
		cells, said := "", false
		for _, kind := range providers {
			cell, there := r.Cells[kind]
			said = said || there
			cells += " " + show(cell) + n.mark(cell.Note) + " |"
		}
		if said {
			fmt.Fprintf(b, "| %s |%s\n", r.Title(), cells)
		}
	}
	b.WriteString("\n")
}

func show(c berth.Cell) string {
	switch c.Effect {
	case berth.EffectMapped:
		return c.Text
	case berth.EffectWarning:
		return "Warning; ignored"
	case berth.EffectError:
		return "Error"
	case berth.EffectIgnored:
		return "Ignored"
	}
	return "as above"
}

// notes numbers what cells say beside their text.
type notes struct{ list []string }

func (n *notes) mark(note string) string {
	if note == "" {
		return ""
	}
	for i, known := range n.list {
		if known == note {
			return fmt.Sprintf(" (%d)", i+1)
		}
	}
	n.list = append(n.list, note)
	return fmt.Sprintf(" (%d)", len(n.list))
}

func (n *notes) write(b *strings.Builder) {
	b.WriteString("\nNotes:\n\n")
	for i, note := range n.list {
		fmt.Fprintf(b, "%d. %s\n", i+1, note)
	}
}

func messages(b *strings.Builder, rows []berth.MappingRow) {
	b.WriteString("\nWhat `berth preflight`, `berth env check` and a run say, by provider:\n")
	for _, kind := range berth.ProviderKinds {
		fmt.Fprintf(b, "\n**%s**\n\n", kind)
		for _, r := range rows {
			switch cell := r.Cells[kind]; cell.Effect {
			case berth.EffectWarning:
				fmt.Fprintf(b, "- warning · %s: %s\n", r.Title(), cell.Text)
			case berth.EffectError:
				fmt.Fprintf(b, "- error · %s: %s\n", r.Title(), cell.Text)
			}
		}
	}
}
