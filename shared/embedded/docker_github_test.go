package embedded_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/githubapp/githubtest"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// githubSite is a server on this machine's engine with a GitHub that it has an App
// on. Containers find the GitHub's certificate in a mount.
func githubSite(t *testing.T) (*site, *githubtest.Server) {
	t.Helper()
	s := dockerSite(t)
	github := githubtest.Start(t, githubtest.Options{Address: dockertest.Bridge(t) + ":0"})
	key := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(key, []byte(github.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	trust := filepath.Dir(github.CAFile())
	s.stop()
	s.more = []string{
		"SSL_CERT_FILE=" + github.CAFile(),
		githubEnv + "=" + strings.Join([]string{github.URL, githubtest.AppID, key, trust}, " "),
	}
	s.start()
	s.environment = "hub"
	s.create(s.environment, map[string]any{
		"docker": map[string]any{"extra_mounts": []string{trust + ":/trust:ro"}},
		"env":    map[string]any{"GIT_SSL_CAINFO": "/trust/" + filepath.Base(github.CAFile())},
	})
	return s, github
}

func TestARunReadsAPrivateRepositoryAndKeepsNoToken(t *testing.T) {
	t.Parallel()
	s, github := githubSite(t)
	repository := github.Add(t, githubtest.Repository{Owner: "acme", Name: "secret", Installation: 41})
	request := s.request(s.environment, "git rev-parse HEAD; env | grep BERTH_GIT || :")
	request.Target = &berth.Target{Kind: berth.TargetGit, Origin: github.URL + "/acme/secret", Branch: "main"}
	run := s.succeed(s.submit(request).ID)
	if got := s.log(run).stdout.String(); got != repository.Tip+"\n" {
		t.Errorf("the run printed %q, want the commit alone", got)
	}
	minted := github.Minted()
	if len(minted) != 1 {
		t.Fatalf("minted are %d tokens, want one", len(minted))
	}
	s.stop() // so that all is on the disk
	files := 0
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(minted[0].Token)) || bytes.Contains(text, []byte("PRIVATE KEY")) {
			t.Errorf("%s holds the token, or the App's key", path)
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("searched %d files: %v", files, err)
	}
}

func TestARunSaysWhereTheAppIsToBeInstalled(t *testing.T) {
	t.Parallel()
	s, github := githubSite(t)
	github.Add(t, githubtest.Repository{Owner: "acme", Name: "secret"})
	request := s.request(s.environment, "true")
	request.Target = &berth.Target{Kind: berth.TargetGit, Origin: github.URL + "/acme/secret", Branch: "main"}
	run := s.awaitRun(s.submit(request).ID)
	if run.Status != berth.RunFailed || run.Reason == nil || run.Reason.Code != berth.ReasonCloneFailed ||
		!strings.Contains(run.Reason.Remediation, "acme/secret: "+github.URL+"/github-apps/"+githubtest.Slug+"/installations/new") {
		t.Errorf("the run is %s because of %+v, want the link", run.Status, run.Reason)
	}
}

func TestAnAppThatCannotBeUsedKeepsTheServerFromStarting(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(broken, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		github embedded.GitHub
		says   string
	}{
		"a key alone":           {embedded.GitHub{KeyFile: broken}, "--github-app: is missing"},
		"an id alone":           {embedded.GitHub{AppID: "1"}, "--github-app-key: is missing"},
		"a URL alone":           {embedded.GitHub{URL: "https://github.example.com"}, "--github-app: is missing"},
		"a key that is none":    {embedded.GitHub{AppID: "1", KeyFile: broken}, "no RSA key"},
		"a key that is missing": {embedded.GitHub{AppID: "1", KeyFile: broken + "x"}, "there is no file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			err := embedded.Run(t.Context(), embedded.Options{
				DataDir: filepath.Join(dir, "data"), ConfigDir: dir, GitHub: c.github, Log: &bytes.Buffer{}, Docker: embedded.Docker{Off: true},
			})
			if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Run = %v, want invalid with %q", err, c.says)
			}
		})
	}
}
