package sqlite

import (
	"fmt"
	"testing"
)

// LimitPages makes the file full at that many pages.
func LimitPages(t *testing.T, table *Table, pages int) {
	t.Helper()
	if _, err := table.writer.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
}

// CountRows counts the rows in the file, expired ones too.
func CountRows(t *testing.T, table *Table) int {
	t.Helper()
	n := 0
	if err := table.writer.QueryRowContext(t.Context(), "SELECT count(*) FROM items").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
