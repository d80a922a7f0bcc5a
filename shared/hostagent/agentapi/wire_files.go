package agentapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// Entries is the body of a folder's listing.
type Entries struct {
	Entries []wire.File `json:"entries"`
}

// Grep is a berth.GrepQuery.
type Grep struct {
	Pattern    wire.Text `json:"pattern"`
	Path       wire.Text `json:"path,omitempty"`
	Glob       wire.Text `json:"glob,omitempty"`
	IgnoreCase bool      `json:"ignore_case,omitempty"`
	Limit      int       `json:"limit,omitempty"`
	Guard      wire.Text `json:"guard,omitempty"`
}

// GrepOf converts to the wire.
func GrepOf(q berth.GrepQuery) Grep {
	return Grep{wire.Text(q.Pattern), wire.Text(q.Path), wire.Text(q.Glob), q.IgnoreCase, q.Limit, wire.Text(q.Guard)}
}

// Query converts from the wire.
func (g Grep) Query() berth.GrepQuery {
	return berth.GrepQuery{
		Pattern: string(g.Pattern), Path: string(g.Path), Glob: string(g.Glob), IgnoreCase: g.IgnoreCase, Limit: g.Limit, Guard: string(g.Guard),
	}
}

// GrepResult is a berth.GrepResult.
type GrepResult struct {
	Matches   []wire.GrepMatch `json:"matches"`
	Truncated bool             `json:"truncated"`
}

// Glob is a berth.GlobQuery.
type Glob struct {
	Pattern wire.Text `json:"pattern"`
	Path    wire.Text `json:"path,omitempty"`
	Limit   int       `json:"limit,omitempty"`
}

// GlobResult is a berth.GlobResult.
type GlobResult struct {
	Paths     []wire.Text `json:"paths"`
	Truncated bool        `json:"truncated"`
}

// headerJSON writes v for a header: JSON in ASCII alone.
func headerJSON(v any) (string, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, r := range string(encoded) {
		switch {
		case r < 0x80:
			b.WriteByte(byte(r))
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String(), nil
}
