package strict

import (
	"bytes"
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/berth-dev/berth/shared/berth"
)

// MaxKeys is the most keys and tables that a TOML document has.
const MaxKeys = 10_000

// Document is a TOML document as a tree of map[string]any, []any, string, bool,
// int64, float64 and times, with the line of each key.
type Document struct {
	Tree  map[string]any
	lines map[string]int
}

// TOML reads a document and returns its tree. Error: malformed, with line and
// column; keys and tables that are there twice are among what is malformed.
func TOML(data []byte) (map[string]any, error) {
	doc, err := ParseTOML(data)
	return doc.Tree, err
}

// ParseTOML is [TOML] with the lines.
func ParseTOML(data []byte) (Document, error) {
	if i := invalidUTF8(data); i >= 0 {
		return Document{}, malformedAt(data, i, "the TOML document is not UTF-8")
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return Document{}, malformedAt(data, i, "the TOML document holds a NUL")
	}
	lines := readKeyLines(data)
	if lines.tooDeep {
		return Document{}, berth.Errorf(berth.CodeMalformed, "the TOML document is nested too deep (line %d)", lines.line+1)
	}
	if lines.tooMany {
		return Document{}, berth.Errorf(berth.CodeMalformed, "the TOML document has more than %d keys", MaxKeys)
	}
	tree := map[string]any{}
	if err := toml.Unmarshal(data, &tree); err != nil {
		return Document{}, tomlError(err)
	}
	return Document{tree, lines.lines}, nil
}

// Line is the line of a field, or of the nearest thing around it that has one;
// 1 when nothing has.
func (d Document) Line(path string) int {
	for path != "" {
		if line, ok := d.lines[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 1
}

func tomlError(err error) error {
	var decode *toml.DecodeError
	if !errors.As(err, &decode) {
		return berth.Errorf(berth.CodeMalformed, "the document is no TOML")
	}
	line, column := decode.Position()
	message := strings.TrimPrefix(decode.Error(), "toml: ")
	if strings.HasPrefix(message, "unable to parse") { // the library quotes the value
		message = "a number is malformed"
	}
	return berth.Errorf(berth.CodeMalformed, "the document is no TOML: %s (line %d, column %d)", message, line, column)
}
