package gitsource_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

// trap is a home folder whose git settings, and an environment whose variables,
// would redirect the origin and run a program that leaves a file.
func trap(t *testing.T) (env []string, sprung string) {
	t.Helper()
	home := t.TempDir()
	sprung = filepath.Join(home, "sprung")
	program := filepath.Join(home, "program")
	files := map[string]string{
		"program": "#!/bin/sh\necho \"$0 $*\" >>" + sprung + "\n",
		".gitconfig": "[url \"http://127.0.0.1:1/\"]\n\tinsteadOf = http://\n[core]\n\thooksPath = " + home + "/hooks\n\tfsmonitor = " + program +
			"\n\tattributesFile = " + home + "/attributes\n\tautocrlf = true\n[init]\n\ttemplateDir = " + home + "/template\n[filter \"trap\"]\n\tsmudge = " + program +
			"\n\trequired = true\n[credential]\n\thelper = store\n[http]\n\textraHeader = X-Trap: 1\n\tproxy = http://127.0.0.1:1\n[clone]\n\tdefaultRemoteName = trap\n",
		"attributes":                   "* filter=trap\n",
		"hooks/post-checkout":          "#!/bin/sh\necho hook >>" + sprung + "\n",
		"template/hooks/post-checkout": "#!/bin/sh\necho template >>" + sprung + "\n",
		"start":                        "echo start-up >>" + sprung + "\n",
		"sh":                           "#!/bin/sh\necho sh >>" + sprung + "\n",
	}
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "GIT_CONFIG_GLOBAL=" + home + "/.gitconfig", "GIT_CONFIG_SYSTEM=" + home + "/.gitconfig",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=" + home + "/hooks",
		"GIT_CONFIG_PARAMETERS='url.http://127.0.0.1:1/.insteadof=http://'", "GIT_TEMPLATE_DIR=" + home + "/template",
		"GIT_DIR=" + home + "/elsewhere", "GIT_WORK_TREE=" + home, "GIT_INDEX_FILE=" + home + "/index", "GIT_NAMESPACE=trap",
		"GIT_OBJECT_DIRECTORY=" + home + "/objects", "GIT_ALLOW_PROTOCOL=file", "GIT_ASKPASS=" + program, "SSH_ASKPASS=" + program,
		"GIT_TRACE=1", "GIT_TRACE_CURL=1", "GIT_TRACE_REDACT=0", "GIT_EXTERNAL_DIFF=" + program, "GIT_PROXY_COMMAND=" + program,
		"BASH_ENV=" + home + "/start", "ENV=" + home + "/start", "BASH_FUNC_git%%=() { echo function >>" + sprung + "; }", "BASH_FUNC_g%%=() { echo function >>" + sprung + "; }",
		"BASH_FUNC_say%%=() { echo function >>" + sprung + "; }", "SHELLOPTS=xtrace", "IFS=/", "CDPATH=/", "GLOBIGNORE=*",
	}, sprung
}

func TestNoSettingOfTheImageOrUserReachesTheClone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	daemon := gitservertest.StartDaemon(t, gitservertest.Options{})
	for _, origin := range []string{s.URL, daemon.URL} {
		run := newClone(t, berth.Target{Origin: origin, Tag: gitservertest.AnnotatedTag})
		var sprung string
		run.env, sprung = trap(t)
		for range 2 { // fetched, and updated
			run.run(t)
			run.wantAt(t, "main", s.Annotated)
		}
		if text, err := os.ReadFile(sprung); err == nil {
			t.Errorf("the trap was sprung:\n%s", text)
		}
		if strings.Contains(run.log, "trace") || strings.Contains(run.log, "+ ") {
			t.Errorf("the log has traces:\n%s", run.log)
		}
		if got := run.read(t, "number"); got != "20\n" {
			t.Errorf("number is %q, want 20 and a line feed", got)
		}
	}
}

func TestWhatTheCloneLeavesIsAnOrdinaryRepository(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	run := newClone(t, berth.Target{Origin: s.URL, Branch: gitservertest.OtherBranch})
	run.run(t)
	run.wantAt(t, gitservertest.OtherBranch, s.OtherTip)
	want := "remote.origin.url=" + s.URL +
		"\nremote.origin.fetch=+refs/heads/feature/login:refs/remotes/origin/feature/login" +
		"\nbranch.feature/login.remote=origin\nbranch.feature/login.merge=refs/heads/feature/login"
	var got []string
	for line := range strings.SplitSeq(run.git(t, "config", "--local", "--list"), "\n") {
		if !strings.HasPrefix(line, "core.") {
			got = append(got, line)
		}
	}
	if strings.Join(got, "\n") != want {
		t.Errorf("the settings are\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if hooks, _ := os.ReadDir(filepath.Join(run.workspace, ".git/hooks")); len(hooks) > 0 {
		t.Errorf("there are hooks: %v", hooks)
	}
	if got := run.git(t, "status", "--short", "--branch"); got != "## feature/login...origin/feature/login" {
		t.Errorf("git status says %q", got)
	}
	s.Git(t, "update-ref", "refs/heads/"+gitservertest.OtherBranch, s.Tip)
	run.git(t, "fetch")
	if got := run.git(t, "rev-parse", "origin/"+gitservertest.OtherBranch); got != s.Tip {
		t.Errorf("git fetch brought %s, want %s", got, s.Tip)
	}
}

func TestAWorkspaceOfAnotherUserIsCloned(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	run := newClone(t, berth.Target{Origin: s.URL})
	if err := os.Chown(run.workspace, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	run.run(t)
	if want := "branch main is at " + s.Tip; lastLine(run.log) != want {
		t.Errorf("the last line is %q, want %q\n%s", lastLine(run.log), want, run.log)
	}
	if !strings.Contains(run.log, "warning: the workspace belongs to another user") {
		t.Errorf("there is no warning:\n%s", run.log)
	}
}

// path makes a folder for PATH with links to programs; git is left out when it is "".
func path(t *testing.T, git string) string {
	t.Helper()
	dir := t.TempDir()
	for name, target := range tools(t) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if git != "" {
		if err := os.Symlink(git, filepath.Join(dir, "git")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAnImageWithoutAGoodGitSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, text string) string {
		file := filepath.Join(t.TempDir(), "git")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, c := range map[string]struct{ git, word string }{
		"none":         {"", "the image has no git: install git in the image"},
		"an old one":   {write(t, "echo git version 2.11.0"), "is too old (2.11): install git 2.20 or later in the image"},
		"a broken one": {write(t, "echo cannot load library >&2; exit 127"), "does not work: install git 2.20 or later in the image"},
		"one without https": {
			write(t, `case "$*" in --version) echo git version 2.39.5 ;; *) echo "git: 'remote-https' is not a git command. See 'git --help'." >&2; exit 128 ;; esac`),
			"cannot fetch over https: install the whole git package in the image",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newClone(t, berth.Target{Origin: "https://127.0.0.1:1/r"})
			run.env = []string{"PATH=" + path(t, c.git)}
			run.run(t)
			run.wantFailed(t, gitsource.StatusGitMissing, c.word)
			if files := run.files(t); len(files) > 0 {
				t.Errorf("the workspace holds %v, want nothing", files)
			}
		})
	}
}

func TestBashGitAndFourProgramsAreEnough(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	run := newClone(t, berth.Target{Origin: s.URL, SHA: s.OldSHA})
	run.env = []string{"PATH=" + path(t, programs(t, "git")["git"])}
	run.run(t)
	run.wantAt(t, "main", s.OldSHA)
	run.write(t, ".git/berth-clone", "fetching "+s.URL+" \n")
	run.run(t)
	run.wantAt(t, "main", s.OldSHA)
}
