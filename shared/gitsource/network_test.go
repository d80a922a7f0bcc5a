package gitsource_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

// breaking serves through broken for the first times that a path ending in suffix
// is asked for, and counts those requests.
func breaking(suffix string, times int32, broken http.HandlerFunc, count *atomic.Int32) func(http.Handler) http.Handler {
	return func(whole http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, suffix) && count.Add(1) <= times {
				broken(w, r)
				return
			}
			whole.ServeHTTP(w, r)
		})
	}
}

// hangUp closes the connection after the first bytes of an answer.
func hangUp(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	w.Header().Set("Content-Length", "100000")
	_, _ = w.Write([]byte("0008NAK\n"))
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) }
}

func TestAFailureOfTheNetworkIsTriedAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	for name, c := range map[string]struct {
		suffix string
		times  int32
		broken http.HandlerFunc
	}{
		"the first answer breaks off":  {"/info/refs", 1, hangUp},
		"the pack breaks off":          {"/git-upload-pack", 2, hangUp},
		"the server is busy":           {"/info/refs", 3, answer(http.StatusServiceUnavailable)},
		"there are too many requests":  {"/git-upload-pack", 3, answer(http.StatusTooManyRequests)},
		"the gateway says nothing new": {"/git-upload-pack", 1, answer(http.StatusBadGateway)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			s := gitservertest.Start(t, gitservertest.Options{Wrap: breaking(c.suffix, c.times, c.broken, &count)})
			run := newClone(t, berth.Target{Origin: s.URL, Tag: gitservertest.LightTag})
			run.run(t)
			run.wantAt(t, "main", s.Light)
			if got := strings.Count(run.log, "the network failed: trying again in 0 s"); got != int(c.times) {
				t.Errorf("it was tried again %d times, want %d\n%s", got, c.times, run.log)
			}
		})
	}
}

func TestAFailureThatLastsEndsTheCloneAfterBoundedTries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken http.HandlerFunc
		status gitsource.Status
		word   string
		times  int32 // requests, at most
	}{
		"the network":        {answer(http.StatusServiceUnavailable), gitsource.StatusNetwork, "could not be reached", 4},
		"not found":          {answer(http.StatusNotFound), gitsource.StatusRepository, "was not found, or needs credentials", 1},
		"not allowed":        {answer(http.StatusForbidden), gitsource.StatusRepository, "was not found, or needs credentials", 1},
		"credentials needed": {answer(http.StatusUnauthorized), gitsource.StatusRepository, "was not found, or needs credentials", 2},
		"not git":            {answer(http.StatusOK), gitsource.StatusRepository, "was not found, or needs credentials", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var count atomic.Int32
			s := gitservertest.Start(t, gitservertest.Options{Wrap: breaking("", 1000, c.broken, &count)})
			run := newClone(t, berth.Target{Origin: s.URL})
			run.run(t)
			run.wantFailed(t, c.status, s.URL, c.word)
			if count.Load() > c.times {
				t.Errorf("there were %d requests, want at most %d\n%s", count.Load(), c.times, run.log)
			}
			if files := run.files(t); len(files) > 0 {
				t.Errorf("the workspace holds %v, want nothing", files)
			}
		})
	}
}

func TestAServerThatIsNotThereIsANetworkFailure(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	for _, origin := range []string{"http://" + address + "/r", "git://" + address + "/r", "https://host.invalid/r", "git://host.invalid/r"} {
		run := newClone(t, berth.Target{Origin: origin})
		run.run(t)
		run.wantFailed(t, gitsource.StatusNetwork, origin)
	}
}

func TestAServerOnAllAddressesIsReachedByAny(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	for how, start := range map[string]func(testing.TB, gitservertest.Options) *gitservertest.Server{
		"http": gitservertest.Start, "daemon": gitservertest.StartDaemon,
	} {
		s := start(t, gitservertest.Options{Address: "0.0.0.0:0"})
		run := newClone(t, berth.Target{Origin: s.URLAt("127.0.0.2")})
		run.run(t)
		if !strings.Contains(run.target.Origin, "127.0.0.2") {
			t.Errorf("%s: the origin is %s", how, run.target.Origin)
		}
		run.wantAt(t, "main", s.Tip)
	}
}

func TestADaemonThatHangsUpIsTriedAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.StartDaemon(t, gitservertest.Options{Flaky: 2})
	run := newClone(t, berth.Target{Origin: s.URL})
	run.run(t)
	run.wantAt(t, "main", s.Tip)
	if got := strings.Count(run.log, "trying again"); got != 2 {
		t.Errorf("it was tried again %d times, want 2\n%s", got, run.log)
	}
	run = newClone(t, berth.Target{Origin: strings.Replace(s.URL, "repository", "other", 1)})
	run.run(t)
	run.wantFailed(t, gitsource.StatusRepository, run.target.Origin)
	if strings.Contains(run.log, "trying again") {
		t.Errorf("a repository that is not there was asked for again:\n%s", run.log)
	}
}

func TestAGitThatDiesOfABrokenPipeIsTriedAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	whole, mark := programs(t, "git")["git"], filepath.Join(t.TempDir(), "mark")
	fake := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\ncase \"$*\" in *ls-remote*) if [ ! -e " + mark + " ]; then : >" + mark + "; kill -PIPE $$; fi ;; esac\nexec " + whole + " \"$@\"\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	run := newClone(t, berth.Target{Origin: s.URL})
	run.env = []string{"PATH=" + path(t, fake)}
	run.run(t)
	run.wantAt(t, "main", s.Tip)
	if got := strings.Count(run.log, "trying again"); got != 1 {
		t.Errorf("it was tried again %d times, want 1\n%s", got, run.log)
	}
}

func TestACertificateThatIsNotTrustedSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{TLS: true})
	run := newClone(t, berth.Target{Origin: s.URL})
	run.env = []string{"GIT_SSL_NO_VERIFY=1"}
	run.run(t)
	run.wantFailed(t, gitsource.StatusNetwork, "is not trusted", "ca-certificates", "GIT_SSL_CAINFO")
	run.env = []string{"GIT_SSL_CAINFO=" + s.WriteCA(t)}
	run.run(t)
	run.wantAt(t, "main", s.Tip)
}

func TestARedirectToAnotherProtocolIsNotFollowed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	plain := gitservertest.Start(t, gitservertest.Options{})
	for name, tls := range map[string]bool{"from https to http": true, "from http to http": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gitservertest.Start(t, gitservertest.Options{TLS: tls, Wrap: func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, strings.TrimSuffix(plain.URL, "/repository.git")+r.URL.String(), http.StatusMovedPermanently)
				})
			}})
			run := newClone(t, berth.Target{Origin: s.URL})
			if tls {
				run.env = []string{"GIT_SSL_CAINFO=" + s.WriteCA(t)}
				run.run(t)
				run.wantFailed(t, gitsource.StatusFailed)
				return
			}
			run.run(t)
			run.wantAt(t, "main", plain.Tip)
		})
	}
}

func TestNamesAreNotTakenForMessages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	const name = "no-such-repository-certificate-timeout"
	run := newClone(t, berth.Target{Origin: strings.Replace(s.URL, "repository", name, 1)})
	run.run(t)
	run.wantFailed(t, gitsource.StatusRepository, name)
	for _, target := range []berth.Target{{Branch: "handshake"}, {Tag: "certificate"}, {Branch: "certificate", SHA: missing}} {
		run = newClone(t, target)
		run.target.Origin = s.URL
		run.run(t)
		run.wantFailed(t, gitsource.StatusRevision)
	}
}
