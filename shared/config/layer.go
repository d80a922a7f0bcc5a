package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// MaxFileBytes is the longest TOML file.
const MaxFileBytes = 1 << 20

// layer is one TOML file, checked by itself.
type layer struct {
	kind         berth.ConfigKind
	path         string // for messages
	doc          strict.Document
	file         file
	environments map[berth.EnvironmentID]map[string]any
	selected     berth.EnvironmentID // [run.environment] id
	override     map[string]any      // the rest of [run.environment]
	files        map[string]string
	problems     berth.Problems
}

// layerOrder lists the kinds of file, weakest first.
var layerOrder = []berth.ConfigKind{berth.ConfigUser, berth.ConfigProject, berth.ConfigWorkflow}

// readLayers checks every file and returns them weakest first.
func readLayers(configs []berth.ConfigFile) ([]*layer, []berth.Problem) {
	var p berth.Problems
	byKind := map[berth.ConfigKind]*layer{}
	for i, c := range configs {
		at := berth.IndexPath("configs", i)
		switch {
		case !slices.Contains(layerOrder, c.Kind):
			p.Addf(at+".kind", "must be one of workflow, project, user")
		case byKind[c.Kind] != nil:
			p.Addf(at+".kind", "is the second file of the kind %s", c.Kind)
		default:
			byKind[c.Kind] = readLayer(c)
		}
	}
	var layers []*layer
	for _, kind := range layerOrder {
		if l := byKind[kind]; l != nil {
			p.Add(l.problems.List()...)
			layers = append(layers, l)
		}
	}
	return layers, p.List()
}

func readLayer(c berth.ConfigFile) *layer {
	l := &layer{kind: c.Kind, path: shownPath(c), files: c.Files}
	if len(c.Source) > MaxFileBytes {
		l.problems.Addf(l.path, "has %d bytes, more than %d", len(c.Source), MaxFileBytes)
		return l
	}
	doc, err := strict.ParseTOML([]byte(c.Source))
	if err != nil {
		l.problems.AddError(l.path, err)
		return l
	}
	l.doc = doc
	if !l.checkVersion() {
		return l
	}
	l.checkMoved()
	wrong := strict.Decode(doc.Tree, &l.file, "")
	l.addAll("", wrong)
	l.checkPlaces()
	l.readCatalogue()
	l.readOverride()
	l.addAll("", without(checkRun(l.file.Run), wrong))
	return l
}

// shownPath is the file's path as messages have it.
func shownPath(c berth.ConfigFile) string {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }
	if c.Path == "" || len(c.Path) > 4096 || strings.ContainsFunc(c.Path, bad) {
		return string(c.Kind) + " file"
	}
	return c.Path
}

// at is the location of a key: file:line: path.
func (l *layer) at(path string) string {
	if path == "" {
		return l.path
	}
	return fmt.Sprintf("%s:%d: %s", l.path, l.doc.Line(path), path)
}

func (l *layer) add(path, format string, args ...any) {
	l.problems.Addf(l.at(path), format, args...)
}

// addAll adds problems whose locations are relative to a table.
func (l *layer) addAll(table string, problems []berth.Problem) {
	for _, p := range problems {
		if _, rest := p.Rest(); !rest {
			p.Location = l.at(joinPath(table, p.Location))
		}
		l.problems.Add(p)
	}
}

func joinPath(table, path string) string {
	switch {
	case table == "":
		return path
	case path == "" || path[0] == '[':
		return table + path
	}
	return table + "." + path
}

// checkVersion reports whether the rest of the file can be read.
func (l *layer) checkVersion() bool {
	if _, old := l.doc.Tree["version"]; old {
		l.add("version", "is called _version: write _version = %d", SchemaVersion)
		delete(l.doc.Tree, "version")
	}
	v, ok := l.doc.Tree["_version"].(int64)
	switch {
	case !ok: // absent, or of a wrong type, which Decode tells
		return true
	case v > SchemaVersion:
		l.add("_version", "is newer than %d, the newest that this server reads: upgrade berth", SchemaVersion)
		return false
	case v < 1:
		l.add("_version", "must be %d", SchemaVersion)
	}
	return true
}

// checkPlaces refuses tables that belong to another kind of file: a project
// must not choose the server that a user's commands talk to.
func (l *layer) checkPlaces() {
	for _, t := range []struct {
		table string
		kind  berth.ConfigKind
		there bool
	}{
		{"workflow", berth.ConfigWorkflow, l.file.Workflow != nil},
		{"project", berth.ConfigProject, l.file.Project != nil},
		{"cli", berth.ConfigUser, l.file.CLI != nil},
	} {
		if t.there && t.kind != l.kind {
			l.add(t.table, "belongs into the %s file, not into the %s file", t.kind, l.kind)
		}
	}
}

// asProblem turns an error about one input into a problem at a place. What is
// wrong with the server and not with the input is returned as it is.
func asProblem(p *berth.Problems, location string, err error) error {
	if err == nil {
		return nil
	}
	var e *berth.Error
	if !errors.As(err, &e) || e.Code != berth.CodeInvalid {
		return err
	}
	p.Addf(location, "%s", e.Message)
	return nil
}
