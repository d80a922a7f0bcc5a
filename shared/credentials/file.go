// Package credentials keeps the servers that a person is logged in to, each with
// its key, in one file for that person alone.
package credentials

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
	"github.com/berth-dev/berth/shared/strict"
)

// FileName is the file's name in the folder of the user's settings. It is not the
// settings file itself: that one is sent along with runs.
const FileName = "credentials.toml"

// Context is a server under a name, with the key for it.
type Context struct {
	Name   string
	Server string // as ParseServer returns it
	Key    berth.SecretValue
}

// Shown is the part of the key that may be shown.
func (c Context) Shown() string { return access.Shown(string(c.Key.Reveal())) }

// File is what a credentials file says. The zero value is one that is not there.
type File struct {
	// Current is the context of commands that name none; empty is none.
	Current  string
	contexts map[string]Context
}

// Find returns the context of a name.
func (f File) Find(name string) (Context, bool) {
	c, ok := f.contexts[name]
	return c, ok
}

// ForServer returns the context of a server, the current one before others.
func (f File) ForServer(server string) (Context, bool) {
	server, err := ParseServer(server)
	if err != nil {
		return Context{}, false
	}
	if c, ok := f.Find(f.Current); ok && c.Server == server {
		return c, true
	}
	for _, c := range f.List() {
		if c.Server == server {
			return c, true
		}
	}
	return Context{}, false
}

// List returns all contexts in the order of their names.
func (f File) List() []Context {
	out := make([]Context, 0, len(f.contexts))
	for _, name := range slices.Sorted(maps.Keys(f.contexts)) {
		out = append(out, f.contexts[name])
	}
	return out
}

// Put adds a context or replaces the one of its name.
func (f *File) Put(c Context) {
	if f.contexts == nil {
		f.contexts = map[string]Context{}
	}
	f.contexts[c.Name] = c
}

// Remove forgets a context. Without it none is current, if it was.
func (f *File) Remove(name string) (found bool) {
	_, found = f.contexts[name]
	delete(f.contexts, name)
	if f.Current == name {
		f.Current = ""
	}
	return found
}

// version is that of the file's form.
const version = 1

// document is the file's form.
type document struct {
	Version  int              `toml:"_version" json:"_version"`
	Current  string           `toml:"current,omitempty" json:"current"`
	Contexts map[string]entry `toml:"contexts,omitempty" json:"contexts"`
}

type entry struct {
	Server string `toml:"server" json:"server"`
	Key    string `toml:"key" json:"key"`
}

// Load reads a file; one that is not there is empty. Errors: invalid for one that
// others may read or that is not well-formed, unavailable for one of a newer berth.
func Load(path string) (File, error) {
	data, err := privatefile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil
	}
	if err != nil {
		return File{}, err
	}
	f, err := parse(data)
	return f, berth.Wrap(err, "reading "+path)
}

func parse(data []byte) (File, error) {
	tree, err := strict.TOML(data)
	if err != nil {
		return File{}, err
	}
	if v, ok := tree["_version"].(int64); ok && v > version {
		return File{}, berth.Errorf(berth.CodeUnavailable, "the file has version %d, this berth reads up to %d: update berth", v, version)
	}
	var doc document
	if err := berth.Invalid(strict.Decode(tree, &doc, "")); err != nil {
		return File{}, err
	}
	f := File{Current: doc.Current}
	var p berth.Problems
	for name, e := range doc.Contexts {
		at := berth.FieldPath("contexts", name)
		_, err := ParseName(name)
		p.AddError(at, err)
		server, err := ParseServer(e.Server)
		p.AddError(at+".server", err)
		f.Put(Context{name, server, berth.NewSecretValue([]byte(e.Key))})
	}
	if _, ok := f.Find(f.Current); !ok && f.Current != "" {
		p.Addf("current", "names a context that is not there")
	}
	return f, berth.Invalid(p.List())
}

const heading = "# The servers that you are logged in to, with your keys: keep it to yourself.\n" +
	"# `berth login`, `berth logout` and `berth context` change it.\n"

func (f File) encode() ([]byte, error) {
	doc := document{Version: version, Current: f.Current, Contexts: map[string]entry{}}
	for name, c := range f.contexts {
		doc.Contexts[name] = entry{c.Server, string(c.Key.Reveal())}
	}
	text, err := toml.Marshal(doc)
	return append([]byte(heading), text...), err
}
