package embedded

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/rotate"
	"github.com/berth-dev/berth/shared/tokenfile"
)

// dataDir is a data folder whose server.json names url.
func dataDir(t *testing.T, url string) (p paths, token string) {
	t.Helper()
	p = paths{t.TempDir()}
	token, err := tokenfile.Open(p.token())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.writeServer(ServerFile{URL: url, PID: os.Getpid(), StartedAt: time.Unix(0, 0)}); err != nil {
		t.Fatal(err)
	}
	return p, token
}

func ok(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(berth.Health{Status: "ok"})
}

func TestFindTakesAServerThatProvesTheToken(t *testing.T) {
	var token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		prove(token, http.HandlerFunc(ok)).ServeHTTP(w, r)
	}))
	defer server.Close()
	p, made := dataDir(t, server.URL)
	token = made
	found, err := Find(t.Context(), p.dir)
	if err != nil || found.URL != server.URL || found.Token == "" {
		t.Errorf("Find = %+v, %v", found, err)
	}
}

func TestAServerFileThatCannotBeReadNamesNoServer(t *testing.T) {
	for _, text := range []string{"", "garbage", `{"url":"http://127.0.0.1:1","pid":1`, "[]", "{}"} {
		p, _ := dataDir(t, "http://127.0.0.1:1")
		if err := os.WriteFile(p.server(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Find(t.Context(), p.dir); berth.CodeOf(err) != berth.CodeNotFound {
			t.Errorf("%q: Find = %v, want not_found", text, err)
		}
	}
}

func TestFindNeverSendsTheTokenToAnotherProgramOnThePort(t *testing.T) {
	seen := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen += r.Header.Get("Authorization") + r.URL.String()
		w.Header().Set(proofHeader, "made up")
		ok(w, r)
	}))
	defer server.Close()
	p, token := dataDir(t, server.URL)
	if _, err := Find(t.Context(), p.dir); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("Find = %v, want not_found", err)
	}
	if seen == "" || strings.Contains(seen, token) {
		t.Errorf("the other program saw %q", seen)
	}
}

func TestATokenFileThatOthersMayReadIsRefused(t *testing.T) {
	p, _ := dataDir(t, "http://127.0.0.1:1")
	if err := os.Chmod(p.token(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadToken(p.dir); berth.CodeOf(err) != berth.CodeInvalid {
		t.Errorf("ReadToken = %v, want invalid", err)
	}
}

func TestASecondServerOnADataFolderIsRefusedAndNamesTheFirst(t *testing.T) {
	p, _ := dataDir(t, "http://127.0.0.1:4242")
	lock, err := p.claim()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	_, err = p.claim()
	if berth.CodeOf(err) != berth.CodeConflict || !strings.Contains(err.Error(), "127.0.0.1:4242") {
		t.Errorf("claim = %v, want a conflict that names the server", err)
	}
}

func TestAFolderThatSomebodyOnlyLooksAtIsNoOtherServers(t *testing.T) {
	t.Parallel()
	p, _ := dataDir(t, "http://127.0.0.1:4242")
	looked, err := p.claim()
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(3*claimPoll, func() { _ = looked.Unlock() })
	lock, err := p.claimWithin(30 * time.Second) // and not claimLimit, for slow machines
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

func TestWhoWaitsTooLongForTheTurnOfAnotherIsNotToldThatTheFolderIsBad(t *testing.T) {
	t.Parallel()
	p, _ := dataDir(t, "http://127.0.0.1:1")
	other, err := p.claimStart(t.Context(), 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Unlock()
	_, err = p.claimStart(t.Context(), 5*startPoll)
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "another process starts or stops the server") {
		t.Errorf("claimStart = %v, want unavailable for another process", err)
	}
}

func TestConnectReportsWhyAServerDidNotStart(t *testing.T) {
	_, err := Connect(t.Context(), t.TempDir()+"/data", []string{"/bin/sh", "-c", "echo no room for it >&2; exit 3"})
	if berth.CodeOf(err) != berth.CodeUnavailable {
		t.Fatalf("Connect = %v, want unavailable", err)
	}
	if e, ok := err.(*berth.Error); !ok || !strings.Contains(e.Message, "no room for it") {
		t.Errorf("Connect = %#v, want what the server said", err)
	}
}

// Who was interrupted as it waited for a server left the file of what that says.
func TestWhatAServerSaysAsItStartsHasNoNameInTheTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := Connect(t.Context(), t.TempDir()+"/data", []string{"/bin/sh", "-c", `echo "left: $(ls "$TMPDIR")." >&2; exit 3`})
	if e, ok := err.(*berth.Error); !ok || !strings.Contains(e.Message, "left: .") {
		t.Errorf("Connect = %#v, want nothing left in the temporary folder", err)
	}
}

func TestTheReportOfAServerThatDidNotStartIsTheCallersError(t *testing.T) {
	t.Parallel()
	exit := errors.New("exit status 2")
	for name, tt := range map[string]struct {
		said string
		want berth.Error
	}{
		"a fault at a variable": {
			"berth: warning: odd\nberth: invalid: BERTH_IDLE: is no span of time\n  to do: correct what is named\n",
			berth.Error{Code: berth.CodeInvalid, Message: "the server did not start: BERTH_IDLE: is no span of time", Remediation: "correct what is named"},
		},
		"several, and a remedy of two lines": {
			"berth: conflict: two are wrong\n  a: one\n  b: other\n  to do: this\n    or that\n",
			berth.Error{Code: berth.CodeConflict, Message: "the server did not start: two are wrong; a: one; b: other", Remediation: "this\n    or that"},
		},
		"no report": {
			"panic: x",
			berth.Error{Code: berth.CodeUnavailable, Message: "the server ended as it started: panic: x", Remediation: "look into LOG", Cause: exit},
		},
		"no word": {
			"",
			berth.Error{Code: berth.CodeUnavailable, Message: "the server ended as it started", Remediation: "look into LOG", Cause: exit},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := startError(tt.said, "LOG", exit).(*berth.Error)
			if !ok || got.Code != tt.want.Code || got.Message != tt.want.Message || got.Remediation != tt.want.Remediation || got.Cause != tt.want.Cause {
				t.Errorf("startError = %#v, want %#v", got, tt.want)
			}
		})
	}
}

func TestALogIsPutAsideBeforeItGrowsTooLarge(t *testing.T) {
	dir := t.TempDir()
	log, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	line := []byte(strings.Repeat("x", 1<<20))
	for range 25 {
		if _, err := log.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	var total int64
	for _, name := range []string{paths{dir}.log(), paths{dir}.log() + ".1"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 2*rotate.DefaultLimit || total < rotate.DefaultLimit {
		t.Errorf("the two logs have %d bytes", total)
	}
}

func TestADataFolderThatIsAFileIsNamed(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), file); berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), file) {
		t.Errorf("Find = %v, want unavailable with the folder's name", err)
	}
	if _, err := Connect(t.Context(), file, []string{"/bin/false"}); berth.CodeOf(err) != berth.CodeUnavailable {
		t.Errorf("Connect = %v, want unavailable", err)
	}
}
