package strict

import (
	"bytes"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/berth-dev/berth/shared/berth"
)

// lineReader reads a TOML document for the places of its keys, which decoding
// into a map loses. It goes first, so that it also keeps what is nested too deep
// from the decoder.
type lineReader struct {
	parser  unstable.Parser
	data    []byte
	lines   map[string]int // path → line
	counts  map[string]int // array of tables → how many so far
	tooDeep bool
	tooMany bool

	seen, line int // bytes up to which newlines are counted, and how many
}

// scope is a place that keys are relative to, and how deep it lies.
type scope struct {
	path  string
	depth int
}

// readKeyLines stops at the first error, which the decoder then reports.
func readKeyLines(data []byte) *lineReader {
	l := &lineReader{data: data, lines: map[string]int{}, counts: map[string]int{}}
	l.parser.Reset(data)
	var table scope
	for !l.tooDeep && !l.tooMany && l.parser.NextExpression() {
		switch node := l.parser.Expression(); node.Kind {
		case unstable.Table:
			table = l.key(scope{}, node.Key())
		case unstable.ArrayTable:
			list := l.key(scope{}, node.Key())
			table = scope{berth.IndexPath(list.path, l.counts[list.path]), list.depth + 1}
			l.counts[list.path]++
			l.lines[table.path] = l.lines[list.path]
		case unstable.KeyValue:
			l.keyValue(table, node)
		}
	}
	return l
}

// key walks a dotted key and notes the line of each part. A part that is an
// array of tables stands for its last element.
func (l *lineReader) key(in scope, parts unstable.Iterator) scope {
	at := in
	for parts.Next() {
		if at.depth++; at.depth > MaxDepth {
			l.tooDeep = true
			return at
		}
		if n := l.counts[at.path]; n > 0 && at.path != in.path {
			at.path = berth.IndexPath(at.path, n-1)
		}
		node := parts.Node()
		at.path = berth.FieldPath(at.path, string(node.Data))
		l.note(at.path, node)
	}
	return at
}

func (l *lineReader) note(path string, node *unstable.Node) {
	offset := int(node.Raw.Offset)
	if offset < l.seen {
		l.seen, l.line = 0, 0
	}
	l.line += bytes.Count(l.data[l.seen:offset], []byte("\n"))
	l.seen = offset
	l.lines[path] = l.line + 1
	l.tooMany = len(l.lines) > MaxKeys
}

func (l *lineReader) keyValue(in scope, node *unstable.Node) {
	at := l.key(in, node.Key())
	if !l.tooDeep && !l.tooMany {
		l.value(at, node.Value())
	}
}

func (l *lineReader) value(at scope, node *unstable.Node) {
	if at.depth > MaxDepth {
		l.tooDeep = true
		return
	}
	children := node.Children()
	switch node.Kind {
	case unstable.Array:
		for i := 0; children.Next() && !l.tooMany; i++ {
			if item := children.Node(); item.Kind == unstable.Array || item.Kind == unstable.InlineTable {
				l.value(scope{berth.IndexPath(at.path, i), at.depth + 1}, item)
			}
		}
	case unstable.InlineTable:
		for children.Next() && !l.tooMany {
			l.keyValue(at, children.Node())
		}
	}
}
