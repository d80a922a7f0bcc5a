package gitsource_test

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

// credentials gives every origin the same; the zero value none.
type credentials struct {
	user, password string
	made           bool // a moment ago
	err            error
}

func (c credentials) FindCredential(context.Context, string) (*gitsource.Credential, error) {
	if c.err != nil || c.user+c.password == "" {
		return nil, c.err
	}
	return &gitsource.Credential{User: c.user, Password: berth.NewSecretValue([]byte(c.password)), New: c.made}, nil
}

const canary = `canary-9d1f'"$(id)\ x`

func TestACredentialOpensAPrivateRepositoryAndStaysNowhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	seen := &processes{word: []byte("canary-9d1f")}
	s := gitservertest.Start(t, gitservertest.Options{TLS: true, User: "u", Password: canary, Wrap: seen.watch})
	run := newClone(t, berth.Target{Origin: s.URL, Tag: gitservertest.AnnotatedTag})
	run.env = []string{"GIT_SSL_CAINFO=" + s.WriteCA(t)}
	run.run(t)
	run.wantFailed(t, gitsource.StatusRepository, "needs credentials")

	run.source = gitsource.Impatient(credentials{user: "u", password: "wrong-password"})
	run.run(t)
	run.wantFailed(t, gitsource.StatusRepository, "needs credentials")

	run.source = gitsource.Impatient(credentials{user: "u", password: canary})
	run.run(t)
	run.wantAt(t, "main", s.Annotated)
	run.git(t, "config", "credential.helper", "store --file=.git/stored") // what a user may do in a workspace that is kept
	run.run(t)
	run.wantAt(t, "main", s.Annotated)
	if strings.Contains(run.log, "canary-9d1f") {
		t.Errorf("the log holds the credential:\n%s", run.log)
	}
	for name, text := range tree(t, run.workspace) {
		if strings.Contains(text, "canary-9d1f") {
			t.Errorf("%s holds the credential", name)
		}
	}
	seen.Lock()
	defer seen.Unlock()
	if seen.requests == 0 || len(seen.hits) > 0 {
		t.Errorf("after %d requests the arguments of these processes held the credential: %q", seen.requests, seen.hits)
	}
}

// processes looks for a word in the arguments of all processes at each request.
type processes struct {
	sync.Mutex
	word     []byte
	requests int
	hits     []string
}

func (p *processes) watch(whole http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		files, _ := fs.Glob(os.DirFS("/proc"), "[0-9]*/cmdline")
		p.Lock()
		p.requests++
		for _, file := range files {
			if text, err := os.ReadFile(filepath.Join("/proc", file)); err == nil && bytes.Contains(text, p.word) {
				p.hits = append(p.hits, string(text))
			}
		}
		p.Unlock()
		whole.ServeHTTP(w, r)
	})
}

func TestACredentialIsNotShownToWhereARedirectLeads(t *testing.T) {
	t.Parallel()
	var shown sync.Map
	record := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, password, ok := r.BasicAuth(); ok {
				shown.Store(password, true)
			}
			h.ServeHTTP(w, r)
		})
	}
	other := gitservertest.Start(t, gitservertest.Options{TLS: true, User: "u", Password: "another", Wrap: record})
	s := gitservertest.Start(t, gitservertest.Options{TLS: true, Wrap: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.TrimSuffix(other.URL, "/repository.git")+r.URL.String(), http.StatusFound)
		})
	}})
	run := newClone(t, berth.Target{Origin: s.URL})
	run.source = gitsource.Impatient(credentials{user: "u", password: canary})
	run.env = []string{"GIT_SSL_CAINFO=" + s.WriteCA(t)}
	run.run(t)
	run.wantFailed(t, gitsource.StatusRepository)
	if _, ok := shown.Load(canary); ok {
		t.Error("the other host saw the credential")
	}
}

func TestWithoutACredentialItsVariablesMeanNothing(t *testing.T) {
	t.Parallel()
	s := gitservertest.Start(t, gitservertest.Options{TLS: true, User: "u", Password: canary})
	run := newClone(t, berth.Target{Origin: s.URL})
	run.env = []string{"GIT_SSL_CAINFO=" + s.WriteCA(t), "BERTH_GIT_USER=u", "BERTH_GIT_PASSWORD=" + canary}
	run.run(t)
	run.wantFailed(t, gitsource.StatusRepository)
}

func TestACredentialThatIsNotKnownEverywhereYetIsTriedAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	for name, c := range map[string]struct {
		made   bool
		unseen int32 // requests with the credential that are answered with 404
		status gitsource.Status
	}{
		"a new one comes to be known":           {true, 3, gitsource.StatusDone},
		"a new one stays unknown":               {true, 1000, gitsource.StatusRepository},
		"an old one is not waited for":          {false, 1, gitsource.StatusRepository},
		"an old one that is known needs no try": {false, 0, gitsource.StatusDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			s := gitservertest.Start(t, gitservertest.Options{TLS: true, User: "u", Password: canary, Wrap: func(whole http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, _, ok := r.BasicAuth(); ok && asked.Add(1) <= c.unseen {
						http.NotFound(w, r)
						return
					}
					whole.ServeHTTP(w, r)
				})
			}})
			run := newClone(t, berth.Target{Origin: s.URL})
			run.env = []string{"GIT_SSL_CAINFO=" + s.WriteCA(t)}
			run.source = gitsource.Impatient(credentials{user: "u", password: canary, made: c.made})
			run.run(t)
			if run.status != c.status {
				t.Fatalf("the clone ended with %d, want %d\n%s", run.status, c.status, run.log)
			}
			if tries := strings.Count(run.log, "the new credential is not known everywhere yet"); c.status != gitsource.StatusDone && tries != map[bool]int{true: 3}[c.made] {
				t.Errorf("it was tried again %d times:\n%s", tries, run.log)
			}
		})
	}
}
