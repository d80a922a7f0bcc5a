package redact

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"unicode/utf8"
)

// maxLineForms bounds the values whose single lines are looked for in every
// encoding too: the number of patterns grows with their length.
const maxLineForms = 8 << 10

// patternsOf lists what to look for, without repeats. Whitespace in a pattern
// stands as one space for each run; none is at its ends.
func patternsOf(values [][]byte) [][]byte {
	var list patternList
	list.seen = map[string]bool{}
	for _, value := range values {
		value = trim(value[:min(len(value), MaxValueBytes)])
		list.addForms(value, true)
		lines := bytes.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' })
		if len(lines) > 1 {
			for _, line := range lines {
				list.addForms(trim(line), len(value) <= maxLineForms)
			}
		}
	}
	return list.patterns
}

type patternList struct {
	seen     map[string]bool
	patterns [][]byte
}

// add takes text of at least MinBytes as a pattern.
func (l *patternList) add(text []byte) {
	if len(text) < MinBytes {
		return
	}
	p := collapse(text)
	if !l.seen[string(p)] {
		l.seen[string(p)] = true
		l.patterns = append(l.patterns, p)
	}
}

func (l *patternList) addForms(value []byte, encoded bool) {
	if len(value) < MinBytes {
		return
	}
	l.add(value)
	if !encoded {
		return
	}
	l.addBase64(value)
	for _, escaped := range []string{url.QueryEscape(string(value)), url.PathEscape(string(value))} {
		l.add([]byte(escaped))
		l.add(lowerPercent(escaped))
	}
	for _, html := range []bool{false, true} {
		for _, ascii := range []bool{false, true} {
			l.add(escapeJSON(value, html, ascii))
		}
	}
}

// addBase64 adds the characters that value alone decides when it stands at any
// offset of a longer text that is encoded, and the lines in which the usual
// programs break a long encoding.
func (l *patternList) addBase64(value []byte) {
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			padded := append(make([]byte, offset), value...)
			text := []byte(encoding.EncodeToString(padded))
			first, last := (8*offset+5)/6, 8*len(padded)/6
			l.add(text[first:last])
			if offset > 0 {
				continue
			}
			for _, width := range []int{64, 76} {
				for at := 0; last > width && at < last; at += width {
					l.add(text[at:min(at+width, last)])
				}
			}
		}
	}
}

// lowerPercent writes the hexadecimal digits of escapes in lower case.
func lowerPercent(escaped string) []byte {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
			i += 2
		}
	}
	return b
}

// escapeJSON writes value as the inside of a JSON string. Encoders differ in
// whether they escape <, > and & (html) and all that is not ASCII (ascii).
func escapeJSON(value []byte, html, ascii bool) []byte {
	var out []byte
	const short = "\bb\ff\nn\rr\tt\"\"\\\\"
	for len(value) > 0 {
		r, n := utf8.DecodeRune(value)
		i := bytes.IndexByte([]byte(short), value[0])
		switch {
		case i >= 0 && i%2 == 0:
			out = append(out, '\\', short[i+1])
		case r < ' ', html && (r == '<' || r == '>' || r == '&'), ascii && r >= utf8.RuneSelf && r <= 0xffff && (n > 1):
			out = appendHex(out, uint16(r))
		case ascii && r > 0xffff:
			r -= 0x10000
			out = appendHex(appendHex(out, uint16(0xd800+r>>10)), uint16(0xdc00+r&0x3ff))
		default:
			out = append(out, value[:n]...)
		}
		value = value[n:]
	}
	return out
}

func appendHex(b []byte, v uint16) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[v>>12], digits[v>>8&15], digits[v>>4&15], digits[v&15])
}

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

func trim(b []byte) []byte { return bytes.Trim(b, " \t\n\v\f\r") }

// collapse writes each run of whitespace as one space.
func collapse(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i, c := range b {
		switch {
		case !isSpace(c):
			out = append(out, c)
		case i == 0 || !isSpace(b[i-1]):
			out = append(out, ' ')
		}
	}
	return out
}
