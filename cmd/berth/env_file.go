package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// maxDocument is the longest document that is read, in bytes: what a request takes.
const maxDocument = 4 << 20

// readDocument reads a TOML or JSON file, or standard input for "-", and returns
// it as a tree. Which of the two it is says the name, or else the first byte.
func (a *app) readDocument(path string) (map[string]any, error) {
	data, err := a.readInput(path, maxDocument)
	if err != nil {
		return nil, err
	}
	asJSON := strings.EqualFold(filepath.Ext(path), ".json")
	if !asJSON && !strings.EqualFold(filepath.Ext(path), ".toml") {
		asJSON = bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
	}
	tree, err := parseDocument(data, asJSON)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", inputName(path), err)
	}
	return tree, a.inlineDockerfiles(tree, path)
}

func inputName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

func parseDocument(data []byte, asJSON bool) (map[string]any, error) {
	if !asJSON {
		return strict.TOML(data)
	}
	tree, problems, err := strict.Tree(data)
	if err != nil {
		return nil, err
	}
	if err := berth.Invalid(problems); err != nil {
		return nil, err
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, berth.Errorf(berth.CodeInvalid, "the document must be an object")
	}
	return object, nil
}

// readInput reads a file as a whole, or standard input for "-", up to limit bytes.
func (a *app) readInput(path string, limit int64) ([]byte, error) {
	in := a.stdin
	if path != "-" {
		file, err := os.Open(a.abs(path))
		if err != nil {
			return nil, local(err, "reading "+path)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, local(err, "reading "+inputName(path))
	}
	if int64(len(data)) > limit {
		e := berth.Errorf(berth.CodeTooLarge, "%s has more than %d KiB", inputName(path), limit>>10)
		e.Remediation = "give less"
		return nil, e
	}
	return data, nil
}

func (a *app) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.dir, path)
}

// inlineDockerfiles replaces `dockerfile = { path = … }`, beside the document,
// and a bare text by the form that the server takes.
func (a *app) inlineDockerfiles(tree map[string]any, path string) error {
	if err := a.inlineDockerfile(tree, path); err != nil {
		return err
	}
	tables, _ := tree["environments"].(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		if table, ok := tables[id].(map[string]any); ok {
			if err := a.inlineDockerfile(table, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) inlineDockerfile(environment map[string]any, document string) error {
	image, _ := environment["image"].(map[string]any)
	switch v := image["dockerfile"].(type) {
	case string:
		image["dockerfile"] = inlineText(v)
	case map[string]any:
		path, ok := v["path"].(string)
		if !ok {
			return nil
		}
		base := a.dir
		if document != "-" {
			base = filepath.Dir(a.abs(document))
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		text, err := a.readInput(path, maxDocument)
		if err != nil {
			return err
		}
		image["dockerfile"] = inlineText(string(text))
	}
	return nil
}

func inlineText(text string) map[string]any { return map[string]any{"type": "inline", "value": text} }
