package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
)

// MaxDepth is how deep lists and objects may lie in each other.
const MaxDepth = 64

// JSON decodes one JSON document into a pointer to a struct. Errors: malformed
// for what is no JSON, with line and column; invalid with all problems.
func JSON(data []byte, into any) error {
	tree, problems, err := Tree(data)
	if err != nil {
		return err
	}
	var p berth.Problems
	p.Add(problems...)
	p.Add(Decode(tree, into, "")...)
	return berth.Invalid(p.List())
}

// Tree reads one JSON document into map[string]any, []any, string, bool,
// json.Number and nil. Keys that occur twice in one object are problems, and
// the first of them is kept. Error: malformed, with line and column.
func Tree(data []byte) (any, []berth.Problem, error) {
	if err := checkSyntax(data); err != nil {
		return nil, nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	r := jsonReader{dec: dec, data: data}
	tree, err := r.value()
	if err != nil {
		return nil, nil, err
	}
	return tree, r.problems.List(), nil
}

func checkSyntax(data []byte) error {
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return berth.Errorf(berth.CodeMalformed, "the JSON document is empty")
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return berth.Errorf(berth.CodeMalformed, "the JSON document begins with a byte order mark: send UTF-8 without one")
	}
	if i := invalidUTF8(data); i >= 0 {
		return malformedAt(data, i, "the JSON document is not UTF-8")
	}
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &syntax):
		return berth.Errorf(berth.CodeMalformed, "the document is no JSON")
	case strings.Contains(syntax.Error(), "unexpected end"):
		return malformedAt(data, len(data), "the JSON document ends too early")
	case strings.Contains(syntax.Error(), "after top-level value"):
		return malformedAt(data, int(syntax.Offset)-1, "there is something behind the JSON document")
	case strings.Contains(syntax.Error(), "max depth"):
		return malformedAt(data, int(syntax.Offset)-1, "the JSON document is nested too deep")
	}
	return malformedAt(data, int(syntax.Offset)-1, "the document is no JSON")
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func malformedAt(data []byte, offset int, what string) error {
	line, column := position(data, offset)
	return berth.Errorf(berth.CodeMalformed, "%s (line %d, column %d)", what, line, column)
}

// position counts lines and bytes of a line from 1.
func position(data []byte, offset int) (line, column int) {
	before := data[:max(0, min(offset, len(data)))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

type jsonReader struct {
	dec      *json.Decoder
	data     []byte
	problems berth.Problems
	path     []step // to the value that is being read
}

// step is one part of a path. Paths are put together only for a problem: there
// may be a million values, each deep down.
type step struct {
	key   string
	index int
	list  bool
}

func (r *jsonReader) value() (any, error) {
	tok, err := r.token()
	if err != nil {
		return nil, err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if len(r.path) >= MaxDepth {
		return nil, malformedAt(r.data, int(r.dec.InputOffset())-1, "the JSON document is nested too deep")
	}
	if delim == '[' {
		return r.list()
	}
	return r.object()
}

// below reads the value at the next step.
func (r *jsonReader) below(s step) (any, error) {
	r.path = append(r.path, s)
	v, err := r.value()
	r.path = r.path[:len(r.path)-1]
	return v, err
}

func (r *jsonReader) list() (any, error) {
	list := []any{}
	for r.dec.More() {
		v, err := r.below(step{index: len(list), list: true})
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := r.token()
	return list, err
}

func (r *jsonReader) object() (any, error) {
	object := map[string]any{}
	for r.dec.More() {
		tok, err := r.token()
		if err != nil {
			return nil, err
		}
		key, _ := tok.(string)
		v, err := r.below(step{key: key})
		if err != nil {
			return nil, err
		}
		if _, twice := object[key]; twice {
			r.twice(key)
			continue
		}
		object[key] = v
	}
	_, err := r.token()
	return object, err
}

func (r *jsonReader) twice(key string) {
	at := ""
	for _, s := range r.path {
		if s.list {
			at = berth.IndexPath(at, s.index)
		} else {
			at = berth.FieldPath(at, s.key)
		}
	}
	r.problems.Addf(berth.FieldPath(at, key), "is there twice")
}

// token also refuses half surrogate pairs, which the decoder would turn into
// replacement characters without a word.
func (r *jsonReader) token() (json.Token, error) {
	before := r.dec.InputOffset()
	tok, err := r.dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, malformedAt(r.data, len(r.data), "the JSON document ends too early")
	case err != nil:
		return nil, malformedAt(r.data, int(r.dec.InputOffset()), "the document is no JSON")
	}
	if s, ok := tok.(string); ok && strings.ContainsRune(s, utf8.RuneError) && loneSurrogate(r.data[before:r.dec.InputOffset()]) {
		return nil, malformedAt(r.data, int(before), "a string holds half of a surrogate pair")
	}
	return tok, nil
}

// loneSurrogate looks at a raw JSON string for a \uD800–\uDFFF escape that is no pair.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit, ok := surrogate(raw[i:])
		i++ // over what is escaped
		if !ok {
			continue
		}
		next, paired := surrogate(raw[i+5:])
		if unit >= 0xDC00 || !paired || next < 0xDC00 {
			return true
		}
		i += 10 // over both
	}
	return false
}

func surrogate(raw []byte) (unit rune, ok bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	for _, c := range raw[2:6] {
		unit = unit<<4 | hexDigit(c)
	}
	return unit, unit >= 0xD800 && unit <= 0xDFFF
}

func hexDigit(c byte) rune {
	switch {
	case c >= 'a':
		return rune(c-'a') + 10
	case c >= 'A':
		return rune(c-'A') + 10
	}
	return rune(c - '0')
}
