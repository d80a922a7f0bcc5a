package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// environmentTOML writes what is set of an environment as TOML, below the table
// at path. Reading it back gives the same environment.
func environmentTOML(e berth.Environment, path []string) (string, error) {
	tree, err := sparseTree(e)
	if err != nil {
		return "", err
	}
	if len(path) > 0 {
		delete(tree, "id") // it is the table's name
	}
	var w tomlWriter
	w.table(path, tree)
	return w.String(), nil
}

// sparseTree is an environment as a tree without what is null or empty.
func sparseTree(e berth.Environment) (map[string]any, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("writing environment %s: %w", e.ID, err)
	}
	tree, _, err := strict.Tree(data)
	object, ok := tree.(map[string]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("reading environment %s: %w", e.ID, err)
	}
	prune(object)
	return object, nil
}

// prune takes nulls, empty lists and empty objects out.
func prune(tree map[string]any) {
	for key, value := range tree {
		switch v := value.(type) {
		case nil:
			delete(tree, key)
		case []any:
			if len(v) == 0 {
				delete(tree, key)
			}
		case map[string]any:
			if prune(v); len(v) == 0 {
				delete(tree, key)
			}
		}
	}
}

type tomlWriter struct{ strings.Builder }

// fieldOrder is the order of the document; other keys follow by name.
var fieldOrder = []string{"id", "provider", "cwd", "image", "resources", "network", "lifecycle", "mode", "allow", "cpu", "memory", "disk", "labels", "env"}

func orderedKeys(tree map[string]any) []string {
	rank := func(key string) int {
		if i := slices.Index(fieldOrder, key); i >= 0 {
			return i
		}
		return len(fieldOrder)
	}
	return slices.SortedFunc(maps.Keys(tree), func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

func (w *tomlWriter) table(path []string, tree map[string]any) {
	keys := orderedKeys(tree)
	var inner []string
	headed := len(path) == 0
	for _, key := range keys {
		if _, ok := tree[key].(map[string]any); ok {
			inner = append(inner, key)
			continue
		}
		if !headed {
			w.head(path)
			headed = true
		}
		fmt.Fprintf(w, "%s = %s\n", tomlKey(key), tomlValue(tree[key]))
	}
	for _, key := range inner {
		w.table(append(slices.Clip(path), key), tree[key].(map[string]any))
	}
}

func (w *tomlWriter) head(path []string) {
	if w.Len() > 0 {
		w.WriteString("\n")
	}
	names := make([]string, len(path))
	for i, part := range path {
		names[i] = tomlKey(part)
	}
	fmt.Fprintf(w, "[%s]\n", strings.Join(names, "."))
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey.MatchString(key) {
		return key
	}
	return tomlString(key)
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "\n") {
			return tomlText(v)
		}
		return tomlString(v)
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = tomlValue(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v) // booleans and numbers
}

// tomlString is a basic string: JSON's escapes are TOML's.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		writeEscaped(&b, r)
	}
	b.WriteByte('"')
	return b.String()
}

// tomlText is a string over several lines.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteString("\"\"\"\n")
	for _, r := range s {
		if r == '\n' || r == '\t' {
			b.WriteRune(r)
			continue
		}
		writeEscaped(&b, r)
	}
	b.WriteString(`"""`)
	return b.String()
}

func writeEscaped(b *strings.Builder, r rune) {
	switch {
	case r == '"' || r == '\\':
		b.WriteByte('\\')
		b.WriteRune(r)
	case r < 0x20 || r == 0x7f:
		fmt.Fprintf(b, `\u%04X`, r)
	default:
		b.WriteRune(r)
	}
}
