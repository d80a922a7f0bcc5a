package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

// The places of the files.
const (
	projectDir   = ".berth"
	projectFile  = ".berth/project.toml"
	workflowFile = ".berth/workflows/%s/workflow.toml"
	userFile     = "berth/settings.toml"
)

// Collect reads the TOML files that apply to a run started in dir: the user's
// settings below xdgConfigHome (skipped when that is empty), the project file in
// dir or above it, up to the root of the git repository, and the workflow file
// when workflow, a slug, is not empty. Dockerfiles that they name by path are
// read along, from the folder of the file that names them; none from outside of
// the project, respectively of the settings' folder.
//
// Errors: invalid for files that cannot be read or are too large; not_found for
// a workflow. Files with faults in them are returned, for the server to tell all.
func Collect(dir, xdgConfigHome, workflow string) ([]berth.ConfigFile, error) {
	var files []berth.ConfigFile
	add := func(kind berth.ConfigKind, root, name, shown string) (bool, error) {
		c, found, err := readConfig(kind, root, name, shown)
		if found {
			files = append(files, c)
		}
		return found, err
	}
	if xdgConfigHome != "" {
		if _, err := add(berth.ConfigUser, xdgConfigHome, userFile, filepath.Join(xdgConfigHome, userFile)); err != nil {
			return nil, err
		}
	}
	root, err := findProject(dir)
	if err != nil {
		return nil, err
	}
	if root != "" {
		if _, err := add(berth.ConfigProject, root, projectFile, projectFile); err != nil {
			return nil, err
		}
	}
	if workflow == "" {
		return files, nil
	}
	slug, err := berth.ParseSlug("workflow", workflow)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf(workflowFile, slug)
	found := false
	if root != "" {
		found, err = add(berth.ConfigWorkflow, root, name, name)
	}
	if err == nil && !found {
		err = berth.Errorf(berth.CodeNotFound, "workflow %s does not exist: there is no %s in %s or above it", slug, name, dir)
	}
	return files, err
}

// findProject returns the folder at dir or above that holds .berth, or nothing.
func findProject(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the project of %s: %w", dir, err)
	}
	for {
		if info, err := os.Stat(filepath.Join(at, projectDir)); err == nil && info.IsDir() {
			return at, nil
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return "", nil
		}
		above := filepath.Dir(at)
		if above == at {
			return "", nil
		}
		at = above
	}
}

// readConfig reads a TOML file and the Dockerfiles that it names. found is false
// when it is not there.
func readConfig(kind berth.ConfigKind, dir, name, shown string) (c berth.ConfigFile, found bool, err error) {
	var from place = anywhere(dir)
	if kind != berth.ConfigUser {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return c, false, unreadable(dir, err)
		}
		defer root.Close()
		from = root
	}
	source, err := readFile(from, name, MaxFileBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, false, nil
	case err != nil:
		return c, false, unreadable(shown, err)
	}
	c = berth.ConfigFile{Kind: kind, Path: shown, Source: source}
	return c, true, readDockerfiles(&c, from, filepath.Dir(name))
}

// place is a folder to read from. A project's is an os.Root, which no path and
// no link leads out of: a project may be anybody's. The user's own settings may
// be links into a folder of dotfiles.
type place interface {
	Open(name string) (*os.File, error)
	Stat(name string) (fs.FileInfo, error)
}

type anywhere string

func (a anywhere) Open(name string) (*os.File, error) { return os.Open(filepath.Join(string(a), name)) }

func (a anywhere) Stat(name string) (fs.FileInfo, error) {
	return os.Stat(filepath.Join(string(a), name))
}

// readDockerfiles fills c.Files. A file that is no TOML names none.
func readDockerfiles(c *berth.ConfigFile, from place, folder string) error {
	tree, err := strict.TOML([]byte(c.Source))
	if err != nil {
		return nil // the server tells it, with everything else
	}
	for _, path := range dockerfilePaths(tree) {
		if filepath.IsAbs(path) {
			return berth.Errorf(berth.CodeInvalid, "%s names the Dockerfile %s: write a path relative to the folder of that file", c.Path, path)
		}
		text, err := readFile(from, filepath.Join(folder, filepath.FromSlash(path)), berth.MaxDockerfileBytes)
		if err != nil {
			return unreadable(fmt.Sprintf("%s names the Dockerfile %s, which", c.Path, path), err)
		}
		if c.Files == nil {
			c.Files = map[string]string{}
		}
		c.Files[path] = text
	}
	return nil
}

// dockerfilePaths lists the paths in image.dockerfile of every environment table.
func dockerfilePaths(tree map[string]any) []string {
	var tables []map[string]any
	if all, ok := tree["environments"].(map[string]any); ok {
		for _, t := range all {
			if table, ok := t.(map[string]any); ok {
				tables = append(tables, table)
			}
		}
	}
	if run, ok := tree["run"].(map[string]any); ok {
		if table, ok := run["environment"].(map[string]any); ok {
			tables = append(tables, table)
		}
	}
	paths := map[string]bool{}
	for _, t := range tables {
		image, _ := t["image"].(map[string]any)
		dockerfile, _ := image["dockerfile"].(map[string]any)
		if path, ok := dockerfile["path"].(string); ok && path != "" {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

var (
	errNotRegular = errors.New("is no regular file")
	errTooLong    = errors.New("is too long")
)

// readFile asks first what it is: to open a named pipe would wait for a writer.
func readFile(from place, name string, limit int64) (string, error) {
	info, err := from.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errNotRegular
	}
	f, err := from.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLong
	}
	return string(data), err
}

// unreadable is invalid, saying what kept us from the file.
func unreadable(what string, err error) error {
	e := berth.Errorf(berth.CodeInvalid, "%s cannot be read", what)
	switch {
	case errors.Is(err, errNotRegular), errors.Is(err, errTooLong):
		e.Message = what + " " + err.Error()
	case errors.Is(err, fs.ErrNotExist):
		e.Message = what + " does not exist"
	case errors.Is(err, fs.ErrPermission):
		e.Message = what + " may not be read: permission denied"
	case strings.Contains(err.Error(), "path escapes from parent"): // os.Root has no error value for it
		e.Message = what + " leads out of the project"
	default:
		e.Cause = err
	}
	return e
}
