package berth_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestResolveDirectoryTakesTheFirstThatIsNamed(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder", "cwd", "source", "link-target/deep"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "link-target/deep"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return root + "/" + name }
	folder := func(name string) berth.Target { return berth.Target{Kind: berth.TargetFolder, Path: at(name)} }
	const (
		gone    = "is no directory on the server"
		nothing = "the run has no directory: neither a folder target, nor cwd in the environment, nor a source directory is set"
		noneOf  = "the run has no directory: the environment sets no cwd, and the source directory is no directory on the server"
	)
	for name, c := range map[string]struct {
		request        berth.DirectoryRequest
		want           string
		field, message string
	}{
		"a folder beats cwd and source":                   {request: berth.DirectoryRequest{Target: folder("folder"), CWD: ptr(at("cwd")), SourceDirectory: at("source")}, want: at("folder")},
		"cwd beats source":                                {request: berth.DirectoryRequest{CWD: ptr(at("cwd")), SourceDirectory: at("source")}, want: at("cwd")},
		"source when it is there":                         {request: berth.DirectoryRequest{SourceDirectory: at("source")}, want: at("source")},
		"links are resolved":                              {request: berth.DirectoryRequest{Target: folder("link")}, want: at("link-target/deep")},
		"dots behind a link go above what it leads to":    {request: berth.DirectoryRequest{Target: folder("link/..")}, want: at("link-target")},
		"dots are resolved":                               {request: berth.DirectoryRequest{Target: folder("cwd/../folder/.")}, want: at("folder")},
		"a folder that is not there":                      {request: berth.DirectoryRequest{Target: folder("gone"), CWD: ptr(at("cwd"))}, field: "target.path", message: gone},
		"a folder that is a file":                         {request: berth.DirectoryRequest{Target: folder("file")}, field: "target.path", message: gone},
		"a relative folder":                               {request: berth.DirectoryRequest{Target: berth.Target{Kind: berth.TargetFolder, Path: "cwd"}}, field: "target.path", message: "is not an absolute path"},
		"a cwd that is not there does not fall to source": {request: berth.DirectoryRequest{CWD: ptr(at("gone")), SourceDirectory: at("source")}, field: "environment.cwd", message: gone},
		"a source that is not there":                      {request: berth.DirectoryRequest{SourceDirectory: at("gone")}, field: "environment.cwd", message: noneOf},
		"a source that is relative":                       {request: berth.DirectoryRequest{SourceDirectory: "source"}, field: "environment.cwd", message: noneOf},
		"nothing at all":                                  {request: berth.DirectoryRequest{}, field: "environment.cwd", message: nothing},
		"a NUL in the path":                               {request: berth.DirectoryRequest{CWD: ptr(at("cwd\x00"))}, field: "environment.cwd", message: gone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := berth.ResolveDirectory(c.request)
			if c.message == "" {
				if err != nil || got != c.want {
					t.Errorf("ResolveDirectory = %q, %v; want %q", got, err, c.want)
				}
				return
			}
			var e *berth.Error
			if !errors.As(err, &e) || !errors.Is(err, berth.ErrDirectoryMissing) {
				t.Fatalf("ResolveDirectory = %q, %v; want ErrDirectoryMissing", got, err)
			}
			if e.Code != berth.CodeInvalid || e.Field != c.field || e.Message != c.message {
				t.Errorf("ResolveDirectory: %s %s: %s; want invalid %s: %s", e.Code, e.Field, e.Message, c.field, c.message)
			}
			if !strings.Contains(e.Remediation, "cwd") {
				t.Errorf("the remediation %q does not name cwd", e.Remediation)
			}
		})
	}
}

func TestResolveDirectoryRefusesAPathThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "\xff"), 0o755); err != nil {
		t.Skip("this file system takes UTF-8 names alone:", err)
	}
	if err := os.Symlink(filepath.Join(root, "\xff"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	_, err := berth.ResolveDirectory(berth.DirectoryRequest{CWD: ptr(filepath.Join(root, "link"))})
	var e *berth.Error
	if !errors.As(err, &e) || e.Message != "leads to a path that is not UTF-8" {
		t.Errorf("ResolveDirectory: %v", err)
	}
}
