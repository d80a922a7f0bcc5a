package terminal

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Table prints rows in columns, two spaces apart. The first row is the heading.
type Table struct{ rows [][]string }

// Row adds a row; control characters in cells are escaped.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Clean(c)
	}
	t.rows = append(t.rows, row)
}

// Print writes the table, each line after indent. Lines have no trailing space.
func (t *Table) Print(w io.Writer, indent string) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		line := indent
		for i, c := range row {
			line += c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
