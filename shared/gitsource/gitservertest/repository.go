// Package gitservertest serves a small repository with a known history over real
// git servers: git http-backend, with or without TLS and a password, and git daemon.
package gitservertest

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// The names in the history.
const (
	DefaultBranch = "main"
	OtherBranch   = "feature/login" // two commits, from the tip of main but one
	OldBranch     = "old-release"   // 60 commits of its own, from OldSHA
	ModulesBranch = "modules"       // has .gitmodules
	LFSBranch     = "lfs"           // has .gitattributes with filter=lfs, in a folder
	PointerBranch = "pointer"       // has an LFS pointer without the attribute
	LineEndBranch = "line-ends"     // has a file that its .gitattributes would change
	LightTag      = "v1.0"          // on the 140th commit of main
	AnnotatedTag  = "v2.0"          // on the 20th
	NestedTag     = "v2.0-signed"   // an annotated tag of AnnotatedTag
	BlobTag       = "blob"          // names no commit
)

// MainCommits is how many commits main has. The file `number` holds the number of
// its commit, from 1.
const MainCommits = 160

// History has the full SHAs of what matters.
type History struct {
	Tip       string // of main
	OtherTip  string
	Light     string // the commit that the tag means
	Annotated string
	OldSHA    string // the fifth commit of main
	OldTip    string // of OldBranch
	OldMiddle string // the tenth commit that is on OldBranch alone
	Hidden    string // a commit that no branch or tag reaches
	Blob      string // an object that is no commit
	TagObject string // of AnnotatedTag
}

// Repository is a bare repository on disk.
type Repository struct {
	Dir string
	History
	git string
}

// NewRepository makes the repository in a folder of the test. It skips the test
// where there is no git.
func NewRepository(t testing.TB) *Repository {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git in PATH")
	}
	r := &Repository{Dir: filepath.Join(t.TempDir(), "repository.git"), git: git}
	made.mu.Lock()
	defer made.mu.Unlock()
	if made.files == nil {
		r.make(t)
		made.files, made.history = files(t, r.Dir), r.History
		return r
	}
	if err := os.CopyFS(r.Dir, made.files); err != nil {
		t.Fatal(err)
	}
	r.History = made.history
	return r
}

// made is the first repository, of which others are copies: git starts a program for
// each step, and they are many.
var made struct {
	mu      sync.Mutex // guards what follows
	files   fstest.MapFS
	history History
}

// files are those of a folder, and the folders that are empty.
func files(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		file := &fstest.MapFile{Mode: 0o644}
		if entry.IsDir() {
			file.Mode = fs.ModeDir | 0o755
		} else if file.Data, err = os.ReadFile(filepath.Join(dir, path)); err != nil {
			return err
		}
		all[path] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (r *Repository) make(t testing.TB) {
	t.Helper()
	r.run(t, nil, "", "init", "--quiet", "--bare", "--template=", r.Dir)
	r.Git(t, "symbolic-ref", "HEAD", "refs/heads/"+DefaultBranch)
	r.run(t, bytes.NewBufferString(stream()), r.Dir, "fast-import", "--quiet")
	r.Git(t, "tag", "--annotate", "--message=a tag of a tag", NestedTag, AnnotatedTag)
	r.Git(t, "update-ref", "refs/tags/"+BlobTag, r.Git(t, "rev-parse", "main:number"))
	shas := strings.Fields(r.Git(t, "rev-parse",
		"main", OtherBranch, LightTag+"^{commit}", AnnotatedTag+"^{commit}", "main~155",
		OldBranch, OldBranch+"~50", "refs/hidden/commit", BlobTag, AnnotatedTag))
	r.History = History{
		Tip: shas[0], OtherTip: shas[1], Light: shas[2], Annotated: shas[3], OldSHA: shas[4],
		OldTip: shas[5], OldMiddle: shas[6], Hidden: shas[7], Blob: shas[8], TagObject: shas[9],
	}
	// Hidden refs are not told to clients, so that Hidden is beyond every branch.
	r.Git(t, "config", "transfer.hideRefs", "refs/hidden")
}

// Git runs git in the repository and returns its standard output.
func (r *Repository) Git(t testing.TB, args ...string) string {
	t.Helper()
	return r.run(t, nil, r.Dir, args...)
}

func (r *Repository) run(t testing.TB, stdin *bytes.Buffer, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.git, args...)
	cmd.Dir, cmd.Env = dir, r.env()
	if stdin != nil {
		cmd.Stdin = stdin
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, messages(err))
	}
	return strings.TrimSpace(string(out))
}

// env keeps the settings of the machine's users away from git.
func (r *Repository) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=1700000000 +0000",
	}
}

func messages(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}
