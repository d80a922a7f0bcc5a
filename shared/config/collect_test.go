package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/config"
)

// tree writes files below a fresh folder and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const dockerfileTOML = "[environments.x.image]\ndockerfile = { path = \"../Dockerfile\" }\n[run.environment.image.dockerfile]\npath = \"deep/D\"\n"

func TestCollectFindsTheFilesThatApply(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"xdg/berth/settings.toml":                  "[cli]\nserver = \"http://x\"\n",
		"p/.berth/project.toml":                    dockerfileTOML,
		"p/Dockerfile":                             "FROM a",
		"p/.berth/deep/D":                          "FROM b",
		"p/.berth/workflows/nightly/workflow.toml": "[workflow]\n",
		"p/sub/dir/":                               "",
		"p/.git/":                                  "",
	})
	got, err := config.Collect(filepath.Join(root, "p/sub/dir"), filepath.Join(root, "xdg"), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	want := []berth.ConfigFile{
		{Kind: berth.ConfigUser, Path: filepath.Join(root, "xdg/berth/settings.toml"), Source: "[cli]\nserver = \"http://x\"\n"},
		{Kind: berth.ConfigProject, Path: ".berth/project.toml", Source: dockerfileTOML, Files: map[string]string{"../Dockerfile": "FROM a", "deep/D": "FROM b"}},
		{Kind: berth.ConfigWorkflow, Path: ".berth/workflows/nightly/workflow.toml", Source: "[workflow]\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Collect (-want +got)\n%s", diff)
	}
}

func TestCollectLeavesOutWhatIsNotThere(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"p/.git": "gitdir: elsewhere", "p/sub/": "", ".berth/project.toml": "[run]\n", "q/.berth/": "", "xdg/": ""})
	for name, dir := range map[string]string{
		"a project above the git root": "p/sub", "a .berth folder without a file": "q",
	} {
		got, err := config.Collect(filepath.Join(root, dir), filepath.Join(root, "xdg"), "")
		if err != nil || len(got) != 0 {
			t.Errorf("%s: Collect = %v, %v; want nothing", name, got, err)
		}
	}
	got, err := config.Collect(filepath.Join(root, "q/.berth"), "", "")
	if err != nil || len(got) != 0 {
		t.Errorf("in .berth itself: Collect = %v, %v; want nothing", got, err)
	}
}

func TestCollectGoesOnAboveAFolderWithoutAProject(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{".berth/project.toml": "[run]\n", "a/b/": ""})
	got, err := config.Collect(filepath.Join(root, "a/b"), "", "")
	if err != nil || len(got) != 1 || got[0].Source != "[run]\n" {
		t.Errorf("Collect = %v, %v; want the project two folders above", got, err)
	}
}

func TestCollectHandsOnFilesWithFaults(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{".berth/project.toml": "a = \n"})
	got, err := config.Collect(root, "", "")
	if err != nil || len(got) != 1 || got[0].Source != "a = \n" {
		t.Errorf("Collect = %v, %v; want the file, for the server to refuse", got, err)
	}
}

func TestCollectRefusesWhatItMustNotRead(t *testing.T) {
	t.Parallel()
	dockerfile := func(path string) string {
		return "[environments.x.image]\ndockerfile = { path = \"" + path + "\" }\n"
	}
	for name, c := range map[string]struct {
		files  map[string]string
		change func(t *testing.T, root string)
		want   string
	}{
		"an absolute Dockerfile":    {map[string]string{"p/.berth/project.toml": dockerfile("/etc/hostname")}, nil, ".berth/project.toml names the Dockerfile /etc/hostname: write a path relative to the folder of that file"},
		"a Dockerfile that escapes": {map[string]string{"p/.berth/project.toml": dockerfile("../../secret"), "secret": "s3cret"}, nil, ".berth/project.toml names the Dockerfile ../../secret, which leads out of the project"},
		"a Dockerfile through a link": {
			map[string]string{"p/.berth/project.toml": dockerfile("D"), "secret": "s3cret"},
			func(t *testing.T, root string) {
				symlink(t, filepath.Join(root, "secret"), filepath.Join(root, "p/.berth/D"))
			},
			".berth/project.toml names the Dockerfile D, which leads out of the project",
		},
		"a project file through a link": {
			map[string]string{"p/.berth/": "", "secret": "s3cret"},
			func(t *testing.T, root string) {
				symlink(t, filepath.Join(root, "secret"), filepath.Join(root, "p/.berth/project.toml"))
			},
			".berth/project.toml leads out of the project",
		},
		"a Dockerfile that is not there": {map[string]string{"p/.berth/project.toml": dockerfile("D")}, nil, ".berth/project.toml names the Dockerfile D, which does not exist"},
		"a Dockerfile that is a folder":  {map[string]string{"p/.berth/project.toml": dockerfile("D"), "p/.berth/D/": ""}, nil, ".berth/project.toml names the Dockerfile D, which is no regular file"},
		"a Dockerfile that is a pipe": {
			map[string]string{"p/.berth/project.toml": dockerfile("D")},
			func(t *testing.T, root string) {
				if err := syscall.Mkfifo(filepath.Join(root, "p/.berth/D"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			".berth/project.toml names the Dockerfile D, which is no regular file",
		},
		"a long Dockerfile":   {map[string]string{"p/.berth/project.toml": dockerfile("D"), "p/.berth/D": strings.Repeat("#", 65537)}, nil, ".berth/project.toml names the Dockerfile D, which is too long"},
		"a long project file": {map[string]string{"p/.berth/project.toml": strings.Repeat("#", 1<<20+1)}, nil, ".berth/project.toml is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, c.files)
			if c.change != nil {
				c.change(t, root)
			}
			got, err := config.Collect(filepath.Join(root, "p"), "", "")
			if err == nil || err.Error() != c.want || berth.CodeOf(err) != berth.CodeInvalid {
				t.Errorf("Collect = %v, %v; want %q", got, err, c.want)
			}
		})
	}
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

func TestTheUsersSettingsMayBeALink(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"dotfiles/s.toml": "[run]\n", "xdg/berth/": ""})
	symlink(t, filepath.Join(root, "dotfiles/s.toml"), filepath.Join(root, "xdg/berth/settings.toml"))
	got, err := config.Collect(root, filepath.Join(root, "xdg"), "")
	if err != nil || len(got) != 1 || got[0].Source != "[run]\n" {
		t.Errorf("Collect = %v, %v; want the linked settings", got, err)
	}
}

func TestCollectNamesAWorkflowThatIsNotThere(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{".berth/project.toml": ""})
	_, err := config.Collect(root, "", "nightly")
	if berth.CodeOf(err) != berth.CodeNotFound || !strings.Contains(err.Error(), ".berth/workflows/nightly/workflow.toml") {
		t.Errorf("Collect: %v, want not_found with the path", err)
	}
	for _, slug := range []string{"../x", "A", "a/b"} {
		if _, err := config.Collect(root, "", slug); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("Collect of %q: %v, want invalid", slug, err)
		}
	}
}

func TestReadSettingsReadsTheCommandLinesTable(t *testing.T) {
	t.Parallel()
	got, err := config.ReadSettings(user("[cli]\nserver = \"http://127.0.0.1:1\"\n[run]\ntimeout = \"1m\"\n"))
	if err != nil || got.Server != "http://127.0.0.1:1" {
		t.Errorf("ReadSettings = %+v, %v", got, err)
	}
	if got, err := config.ReadSettings(user("")); err != nil || got != (config.Settings{}) {
		t.Errorf("ReadSettings of nothing = %+v, %v", got, err)
	}
	if _, err := config.ReadSettings(user("[cli]\nsever = \"x\"\n")); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("ReadSettings: %v, want invalid", err)
	}
}
