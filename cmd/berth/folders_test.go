package main

import (
	"os"
	"path/filepath"
	"testing"
)

// homeless is a CLI of which no home folder is known, as in a unit of a service
// manager, with what would be taken for its settings in the current folder.
func homeless(t *testing.T, server string) *cli {
	t.Helper()
	for _, name := range []string{"HOME", "USERPROFILE", "home"} { // where the standard library looks
		t.Setenv(name, "")
	}
	c := newCLI(t, server)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		delete(c.env, name)
	}
	t.Chdir(c.dir)
	return c
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

// The key of the secrets once lay in berth/keys of whatever folder was the current
// one, and the server did not start from another.
func TestWithoutAHomeFolderNoKeyIsWrittenIntoTheCurrentOne(t *testing.T) {
	c := homeless(t, "")
	c.env["BERTH_DATA_DIR"] = t.TempDir()
	for _, args := range [][]string{{"serve", "--docker=off", "--idle", "1s"}, {"login", "https://berth.example.com"}, {"context", "use", "local"}} {
		r := c.run(args...)
		if r.status != 2 {
			t.Errorf("berth %v = %d, want 2; stderr: %s", args, r.status, r.stderr)
		}
		mustContain(t, "stderr", r.stderr, "no home folder is known: set XDG_CONFIG_HOME")
	}
	if left := entries(t, c.dir); len(left) > 0 {
		t.Errorf("the current folder has %v", left)
	}
}

func TestWithoutAHomeFolderTheCurrentOneHoldsNoSettings(t *testing.T) {
	f := newFake(t)
	c := homeless(t, f.URL)
	c.write("berth/settings.toml", "[cli]\nserver = \"http://127.0.0.1:9\"\n")
	c.write("berth/credentials.toml", "no TOML")
	c.ok("var", "list")
	mustContain(t, "stdout", c.ok("context", "show").stdout, "chosen by  BERTH_SERVER")
	delete(c.env, "BERTH_SERVER")
	c.env["BERTH_DATA_DIR"] = t.TempDir()
	mustContain(t, "stdout", c.ok("context", "show").stdout, "chosen by  BERTH_DATA_DIR")
}

// A relative folder would be another one in each current folder.
func TestRelativeHomeAndXDGFoldersAreNotUsed(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	c.env["XDG_CONFIG_HOME"], c.env["XDG_DATA_HOME"] = "config", "data"
	a := c.app(nil, nil)
	if dir, err := a.dataFolder(); dir != filepath.Join(c.env["HOME"], ".local", "share", "berth") || err != nil {
		t.Errorf("the data folder is %q, %v", dir, err)
	}
	if dir := a.configHome(); dir != filepath.Join(c.env["HOME"], ".config") {
		t.Errorf("the folder of the settings is %q", dir)
	}
	c.env["HOME"] = "me"
	if dir := c.app(nil, nil).home(); !filepath.IsAbs(dir) && dir != "" {
		t.Errorf("the home folder is %q", dir)
	}
}

// Some folder names would colour the screen or turn the text around.
func TestTheNameOfADataFolderDoesNothingToTheTerminal(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	r := c.ok("stop", "--data-dir", filepath.Join(t.TempDir(), "d\x1b[31m\u202e\r"))
	mustContain(t, "stderr", r.stderr, `d\x1b[31m`, `\r: there is nothing to stop`)
	mustNotContain(t, "stderr", r.stderr, "\x1b", "\u202e", "\r")
}
