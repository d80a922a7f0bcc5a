package berth

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// ErrDirectoryMissing marks, for errors.Is, that a local run has no directory
// to run in; the run's reason is then [ReasonDirectoryMissing].
var ErrDirectoryMissing = errors.New("no directory on the server")

// Directories is what [ResolveDirectory] asks the file system; nil means the
// server's own.
type Directories interface {
	// EvalSymlinks resolves links and .. and fails when the path is not there.
	EvalSymlinks(path string) (string, error)
	Stat(path string) (fs.FileInfo, error)
}

// DirectoryRequest holds what may name the directory of a local run.
type DirectoryRequest struct {
	Target          Target
	CWD             *string // of the environment
	SourceDirectory string  // the client's folder
	Directories     Directories
}

// ResolveDirectory returns the canonical directory of a local run: the folder
// target's path, else the environment's cwd, else the submitted source directory
// if it is on the server. The first that is named decides; a source directory
// that is not there counts as not named. Error: invalid, wrapping
// [ErrDirectoryMissing].
func ResolveDirectory(r DirectoryRequest) (string, error) {
	system := r.Directories
	if system == nil {
		system = serverDirectories{}
	}
	switch {
	case r.Target.Kind == TargetFolder:
		return resolve(system, "target.path", r.Target.Path, "Name a directory that is on the server, or leave the target out and set cwd in the environment.")
	case r.CWD != nil:
		return resolve(system, "environment.cwd", *r.CWD, "Make the directory on the server, or change cwd in the environment.")
	case r.SourceDirectory == "":
		return "", directoryMissing("environment.cwd", "the run has no directory: neither a folder target, nor cwd in the environment, nor a source directory is set")
	}
	dir, err := resolve(system, "source_directory", r.SourceDirectory, cwdRemedy)
	if err != nil {
		return "", directoryMissing("environment.cwd", "the run has no directory: the environment sets no cwd, and the source directory is no directory on the server")
	}
	return dir, nil
}

const cwdRemedy = "Configure cwd in the environment, or send a folder target: both are absolute paths on the server."

func directoryMissing(field, message string) error {
	return &Error{Code: CodeInvalid, Field: field, Message: message, Remediation: cwdRemedy, Cause: ErrDirectoryMissing}
}

func resolve(system Directories, field, dir, remedy string) (string, error) {
	fault := func(message string) (string, error) {
		return "", &Error{Code: CodeInvalid, Field: field, Message: message, Remediation: remedy, Cause: ErrDirectoryMissing}
	}
	if !filepath.IsAbs(dir) {
		return fault("is not an absolute path")
	}
	real, err := system.EvalSymlinks(dir)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fault("is a directory that the server may not look into")
	case err != nil:
		return fault("is no directory on the server")
	case !utf8.ValidString(real):
		return fault("leads to a path that is not UTF-8")
	}
	info, err := system.Stat(real)
	if err != nil || !info.IsDir() {
		return fault("is no directory on the server")
	}
	return filepath.Clean(real), nil
}

type serverDirectories struct{}

func (serverDirectories) EvalSymlinks(path string) (string, error) {
	return filepath.EvalSymlinks(path)
}
func (serverDirectories) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
