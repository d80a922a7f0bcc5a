//go:build linux

package githubapp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/githubapp"
	"github.com/berth-dev/berth/shared/githubapp/githubtest"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/sandbox/docker"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/local"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/sandbox/sprites"
	"github.com/berth-dev/berth/shared/sandbox/sprites/spritestest"
	"github.com/berth-dev/berth/shared/spool"
)

const sandboxID = "01arz3ndektsv4rrffq69g5fa1"

func TestAPrivateCloneLeavesNoTokenInALocalSandbox(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	root, workspace := filepath.Join(t.TempDir(), "sandboxes"), t.TempDir()
	p, err := local.New(local.Config{Root: root, GuestPath: sandboxtest.BuildGuest(t), Installation: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	testPrivateClone(t, &box{Provider: p, folders: []string{root, workspace}}, "127.0.0.1:0",
		berth.SandboxSpec{ID: sandboxID, Installation: "test", Run: "01arz3ndektsv4rrffq69g5fav", Directory: workspace})
}

func TestAPrivateCloneLeavesNoTokenInAContainer(t *testing.T) {
	t.Parallel()
	image := dockertest.Image(t, dockertest.Debian)
	root, guest := filepath.Join(t.TempDir(), "sandboxes"), sandboxtest.BuildGuest(t)
	installation := berth.InstallationID("test-github-" + filepath.Base(filepath.Dir(filepath.Dir(root))))
	p, err := docker.New(docker.Config{Root: root, Installation: installation, Guest: func(string) (string, error) { return guest, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	testPrivateClone(t, &box{Provider: p, folders: []string{root}, inside: true}, dockertest.Bridge(t)+":0", berth.SandboxSpec{
		ID: sandboxID, Installation: installation, Run: "01arz3ndektsv4rrffq69g5fav",
		Environment: berth.Environment{ID: "e", Provider: berth.ProviderDocker, Image: berth.Image{Docker: &image}},
	})
}

func TestAPrivateCloneLeavesNoTokenInASprite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts guests")
	}
	service := spritestest.Start(t)
	guest, err := os.ReadFile(sandboxtest.BuildGuest(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := sprites.New(sprites.Config{
		URL: service.URL, Installation: "test", Guest: func(string) ([]byte, error) { return guest, nil },
		Token: func(context.Context) (berth.SecretValue, error) {
			return berth.NewSecretValue([]byte(spritestest.Token)), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	spec := berth.SandboxSpec{ID: sandboxID, Installation: "test", Run: "01arz3ndektsv4rrffq69g5fav"}
	b := &box{Provider: p}
	b.open(t, spec)
	b.folders = []string{service.Find(b.ref.Ref).Root}
	testPrivateClone(t, b, "127.0.0.1:0", spec)
}

// box is a sandbox in which a clone is made.
type box struct {
	berth.Provider
	ref     berth.SandboxRef
	folders []string // of this machine that hold what is the sandbox's
	inside  bool     // that it has a file system of its own
	last    int      // command
}

func testPrivateClone(t *testing.T, b *box, address string, spec berth.SandboxSpec) {
	seen := &watch{}
	s := githubtest.Start(t, githubtest.Options{Address: address, Watch: seen.look})
	repository := s.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
	s.LagBehind(1) // GitHub does not know a new token everywhere at once
	log := &strings.Builder{}
	settings := githubapp.Settings{ID: githubtest.AppID, PrivateKey: berth.NewSecretValue([]byte(s.Key)), URL: s.URL}
	app := githubapp.New(githubapp.Config{
		Settings: func(context.Context) (*githubapp.Settings, error) { return &settings, nil }, HTTP: s.Client(), Logger: logTo(log),
	})

	b.open(t, spec)
	ca, err := os.ReadFile(s.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	caFile := strings.TrimSpace(b.run(t, berth.CommandSpec{Script: `f=$(mktemp) && printf %s "$CA" >"$f" && echo "$f"`, Env: map[string]string{"CA": string(ca)}}))
	if err := b.StartCommand(t.Context(), b.ref, berth.CommandSpec{ID: "lasting", Script: "sleep 600; :"}); err != nil {
		t.Fatal(err)
	}
	seen.begin(s)

	clone, err := gitsource.Source{Credentials: app}.CloneCommand(t.Context(), berth.Definition{
		Target: berth.Target{Kind: berth.TargetGit, Origin: s.URL + "/acme/secret"}, Clone: berth.Clone{Enabled: true, Depth: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	clone.Env["GIT_SSL_CAINFO"] = caFile
	text := b.run(t, clone)
	if !strings.Contains(text, "branch main is at "+repository.Tip) || !strings.Contains(text, "not known everywhere yet") {
		t.Errorf("the clone says\n%s", text)
	}
	token := s.Minted()[0].Token
	later := b.run(t, berth.CommandSpec{Script: "env; git config --list; git log -1 --format=%H; rm -f " + caFile})
	if !strings.Contains(later, repository.Tip) {
		t.Errorf("the workspace has no code: %s", later)
	}
	forms := formsOf(token)
	for name, where := range map[string]string{"the clone's log": text, "a later command": later, "the server's log": log.String()} {
		if holds([]byte(where), forms) {
			t.Errorf("%s holds the token:\n%s", name, where)
		}
	}
	seen.report(t)
	if found := processesWith(forms, "cmdline", "environ"); len(found) > 0 {
		t.Errorf("after the clone these processes have the token: %q", found)
	}
	b.search(t, token)
}

func (b *box) open(t *testing.T, spec berth.SandboxSpec) {
	t.Helper()
	state, err := b.Provision(t.Context(), spec)
	b.ref = berth.SandboxRef{ID: spec.ID, Ref: state.Ref}
	t.Cleanup(func() {
		if err := b.Destroy(context.WithoutCancel(t.Context()), b.ref); err != nil {
			t.Errorf("Destroy: %v", err)
		}
	})
	for deadline := time.Now().Add(time.Minute); err == nil && state.Status == berth.SandboxCreating && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		state, err = b.Describe(t.Context(), b.ref)
	}
	if err != nil || state.Status != berth.SandboxReady {
		t.Fatalf("the sandbox is %+v, %v", state, err)
	}
}

// run returns the output of a command that must succeed.
func (b *box) run(t *testing.T, spec berth.CommandSpec) string {
	t.Helper()
	b.last++
	spec.ID = berth.CommandID("c" + strconv.Itoa(b.last))
	if err := b.StartCommand(t.Context(), b.ref, spec); err != nil {
		t.Fatalf("StartCommand: %v", err)
	}
	var text strings.Builder
	for offset, deadline := int64(0), time.Now().Add(2*time.Minute); ; {
		out, err := b.ReadOutput(t.Context(), b.ref, spec.ID, offset, 0, 5*time.Second)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("ReadOutput after %q: %v", &text, err)
		}
		frames, _, err := spool.Decode(out.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			text.Write(f.Data)
		}
		if offset = out.Next; out.Ended {
			if !out.Exit.Succeeded() {
				t.Fatalf("it ended with %+v:\n%s", out.Exit, &text)
			}
			return text.String()
		}
	}
}

// search looks for the token in all files, and first for what it must find.
func (b *box) search(t *testing.T, token string) {
	t.Helper()
	for _, dir := range b.folders {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if holds(text, formsOf(token)) {
				t.Errorf("%s holds the token", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if !b.inside {
		return
	}
	env := map[string]string{}
	for i, form := range formsOf(token) {
		env["FORM"+strconv.Itoa(i)] = form
	}
	found := b.run(t, berth.CommandSpec{Env: env, Script: `printf '%s\n' "$FORM0" >/tmp/control
grep -rlF --exclude-dir=proc --exclude-dir=sys -f <(printf '%s\n' "${FORM0:?}" "${FORM1:?}") / 2>/dev/null || :`})
	if diff := cmp.Diff("/tmp/control\n", found); diff != "" {
		t.Errorf("the token is in files of the container (-want +got):\n%s", diff)
	}
}

// formsOf are the token as it is, and as git sends it.
func formsOf(token string) []string {
	return []string{token, base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))}
}

func holds(text []byte, forms []string) bool {
	for _, form := range forms {
		if bytes.Contains(text, []byte(form)) {
			return true
		}
	}
	return false
}

// processesWith names the files of processes that hold one of the forms.
func processesWith(forms []string, files ...string) (found []string) {
	for _, file := range files {
		paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil && holds(text, forms) {
				found = append(found, path)
			}
		}
	}
	return found
}

// watch looks at the processes while git asks.
type watch struct {
	mu      sync.Mutex
	server  *githubtest.Server
	lasting map[string]bool // processes that were there before the clone
	looks   int
	inEnv   int // the clone's own, which must have it
	hits    []string
}

func (w *watch) begin(s *githubtest.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server, w.lasting = s, map[string]bool{}
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		w.lasting[path] = true
	}
}

func (w *watch) look(*http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server == nil || len(w.server.Minted()) == 0 {
		return
	}
	w.looks++
	forms := formsOf(w.server.Minted()[0].Token)
	w.hits = append(w.hits, processesWith(forms, "cmdline")...)
	for _, path := range processesWith(forms, "environ") {
		if w.inEnv++; w.lasting[path] {
			w.hits = append(w.hits, path)
		}
	}
}

func (w *watch) report(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looks == 0 || w.inEnv == 0 || len(w.hits) > 0 {
		t.Errorf("in %d looks the clone's processes had the token %d times, and others: %q", w.looks, w.inEnv, w.hits)
	}
}
