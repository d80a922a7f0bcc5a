package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from elsewhere fit for one line of a terminal: control
// characters, which could move the cursor or colour the screen, and bytes that
// are not UTF-8 are shown as escapes.
func Clean(s string) string {
	if !strings.ContainsFunc(s, unfit) {
		return s
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == utf8.RuneError && s[i] != 0xEF, r < 0x20, r == 0x7f:
			b.WriteString(`\x` + string(hex[s[i]>>4]) + string(hex[s[i]&15]))
		case unfit(r):
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Formatting characters are unfit too: some of them turn the direction of text.
func unfit(r rune) bool {
	return r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// Cut shortens s to at most width columns, with an ellipsis when something is
// missing. Every rune counts as one column.
func Cut(s string, width int) string {
	if width <= 0 || utf8.RuneCountInString(s) <= width {
		return s
	}
	runes := []rune(s)
	return string(runes[:width-1]) + "…"
}
