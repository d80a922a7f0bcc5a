package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]place{
		"01k5m3v9x2qf:a/b":  {"01k5m3v9x2qf", "a/b"},
		"01K5M3V9X2QF:/a:b": {"01K5M3V9X2QF", "/a:b"},
		"01k5m3v9x2qf:":     {"01k5m3v9x2qf", "."},
		"a:b":               {"", "a:b"}, // no id has one letter
		`C:\x`:              {"", `C:\x`},
		"./01k5m3v9x2qf:a":  {"", "./01k5m3v9x2qf:a"},
		"plain":             {"", "plain"},
		"-":                 {"", "-"},
	} {
		if got := parsePlace(arg); got != want {
			t.Errorf("parsePlace(%q) = %+v, want %+v", arg, got, want)
		}
	}
}

const box = string(fakeSandbox) + ":"

func TestCpUpload(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	f.files["there"] = fakeFile{dir: true}
	c.write("a b.sh", "#!\x00")
	if err := os.Chmod(filepath.Join(c.dir, "a b.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	c.ok("cp", "a b.sh", box+"new/name")
	c.ok("cp", "a b.sh", box+"there")
	c.ok("cp", "a b.sh", box+"folder/")
	c.ok("cp", "a b.sh", box)
	c.input("from a pipe").ok("cp", "-", box+"piped")
	for name, want := range map[string]fakeFile{
		"new/name": {data: []byte("#!\x00"), mode: 0o750}, "there/a b.sh": {data: []byte("#!\x00"), mode: 0o750},
		"folder/a b.sh": {data: []byte("#!\x00"), mode: 0o750}, "a b.sh": {data: []byte("#!\x00"), mode: 0o750},
		"piped": {data: []byte("from a pipe"), mode: 0o644},
	} {
		if diff := cmp.Diff(want, f.files[name], cmp.AllowUnexported(fakeFile{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCpUploadsAFolderAndNamesWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	c.write("src/a", "1")
	c.write("src/deep/er/b", "2")
	c.write("secret", "outside")
	for link, to := range map[string]string{"src/inside": "a", "src/outside": "../secret", "src/absolute": filepath.Join(c.dir, "secret"), "src/loop": "."} {
		if err := os.Symlink(to, filepath.Join(c.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if r := c.run("cp", "src", box+"dst"); r.status != 2 {
		t.Errorf("a folder without -r = %d, want 2", r.status)
	}
	r := c.run("cp", "-r", "src", box+"dst")
	if r.status != 1 {
		t.Errorf("berth cp -r = %d, want 1 as something is left out", r.status)
	}
	mustContain(t, "stderr", r.stderr, "left out src/outside", "left out src/absolute", "left out src/loop", "3 left out")
	got := map[string]string{}
	for name, file := range f.files {
		got[name] = string(file.data)
	}
	if diff := cmp.Diff(map[string]string{"dst/a": "1", "dst/deep/er/b": "2", "dst/inside": "1"}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestCpDownload(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	f.files["out/a.bin"] = fakeFile{data: []byte("\x00\xffdata"), mode: 0o755}
	c.write("folder/x", "")
	c.write("old", "old")
	c.ok("cp", box+"out/a.bin", ".")
	c.ok("cp", box+"out/a.bin", "folder")
	c.ok("cp", box+"out/a.bin", "old")
	for _, name := range []string{"a.bin", "folder/a.bin", "old"} {
		if got := c.read(name); got != "\x00\xffdata" {
			t.Errorf("%s = %q, want the file", name, got)
		}
	}
	if info, err := os.Stat(filepath.Join(c.dir, "a.bin")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode = %v, %v; want it kept", info, err)
	}
	if r := c.ok("cp", box+"out/a.bin", "-"); r.stdout != "\x00\xffdata" {
		t.Errorf("stdout = %q, want the file", r.stdout)
	}
	if r := c.run("cp", box+"out/none", "new"); r.status != 4 {
		t.Errorf("a file that is not there = %d, want 4", r.status)
	}
	if r := c.run("cp", box+"out/a.bin", "missing/"); r.status != 4 {
		t.Errorf("into a folder that is not there = %d, want 4", r.status)
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder holds %v, %v; want nothing left over", entries, err)
	}
}

func TestCpDownloadsAFolderAndNothingOutsideOfIt(t *testing.T) {
	t.Parallel()
	f, c := withSandbox(t)
	f.files["dist"] = fakeFile{dir: true}
	f.files["dist/a"] = fakeFile{data: []byte("1"), mode: 0o644}
	f.files["dist/sub"] = fakeFile{dir: true}
	f.files["dist/sub/b"] = fakeFile{data: []byte("2"), mode: 0o600}
	f.files["dist/device"] = fakeFile{}
	f.files["dist/.."] = fakeFile{data: []byte("evil")}
	f.files["dist/trap"] = fakeFile{dir: true}
	f.files["dist/trap/c"] = fakeFile{data: []byte("evil")}
	outside := t.TempDir()
	if err := os.MkdirAll(filepath.Join(c.dir, "to", "dist"), 0o755); err != nil {
		t.Fatal(err)
	}
	// A link that was there before must not lead the copy out.
	if err := os.Symlink(outside, filepath.Join(c.dir, "to", "dist", "trap")); err != nil {
		t.Fatal(err)
	}
	r := c.run("cp", "-r", box+"dist", "to")
	if r.status == 0 {
		t.Errorf("berth cp -r through a link = 0, want a failure; stderr:\n%s", r.stderr)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside of the folder: %v, %v; want nothing", entries, err)
	}
	delete(f.files, "dist/trap")
	delete(f.files, "dist/trap/c")
	r = c.run("cp", "-r", box+"dist", "to")
	if r.status != 1 {
		t.Errorf("berth cp -r = %d, want 1 as things are left out", r.status)
	}
	mustContain(t, "stderr", r.stderr, "left out dist/device", "2 left out")
	if a, b := c.read("to/dist/a"), c.read("to/dist/sub/b"); a != "1" || b != "2" {
		t.Errorf("files = %q, %q; want 1, 2", a, b)
	}
}

func TestCpRefusesWrongUse(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no sandbox":             {"a", "b"},
		"two sandboxes":          {box + "a", box + "b"},
		"one side":               {box + "a"},
		"a folder from standard": {"-r", "-", box + "a"},
	} {
		_, c := withSandbox(t)
		if r := c.run(append([]string{"cp"}, args...)...); r.status != 2 {
			t.Errorf("%s: berth cp = %d, want 2", name, r.status)
		}
	}
}
