package httpapi_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob/dir"
	"github.com/berth-dev/berth/shared/httpapi"
	"github.com/berth-dev/berth/shared/httpapi/httpapitest"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/secret/sealed"
	"github.com/berth-dev/berth/shared/spool"
	"github.com/berth-dev/berth/shared/stream"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

const testToken = "0123456789abcdef0123456789abcdef"

// testClock stands still until a test moves it, so that both ways of serving
// give the same answers.
type testClock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newTestClock() *testClock {
	return &testClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	return berth.SystemClock{}.Sleep(ctx, d)
}

// testIDs counts. Its ids are ULIDs of the test clock's time, nearly.
type testIDs struct {
	mu sync.Mutex // guards n
	n  int
}

func (s *testIDs) NewID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return fmt.Sprintf("01kjm8e400%016d", s.n)
}

// fixture is an API over the real embedded adapters and a plane that is written
// by hand.
type fixture struct {
	t       *testing.T
	api     *httpapi.API
	plane   *testPlane
	table   *dyingTable
	store   *records.Store
	secrets *sealed.Secrets
	blobs   *dir.Blobs
	clock   *testClock
	hub     *stream.Hub
	log     *syncBuffer
	woken   *answers
	cfg     httpapi.Config
}

func newFixture(t *testing.T, change ...func(*httpapi.Config)) *fixture {
	t.Helper()
	folder := t.TempDir()
	f := &fixture{t: t, clock: newTestClock(), hub: &stream.Hub{}, log: &syncBuffer{}}
	table, err := sqlite.Open(t.Context(), filepath.Join(folder, "berth.db"), f.clock)
	must(t, err)
	t.Cleanup(func() { table.Close() })
	f.table = &dyingTable{Table: table}
	f.blobs, err = dir.Open(filepath.Join(folder, "blobs"))
	must(t, err)
	t.Cleanup(func() { f.blobs.Close() })
	f.secrets, err = sealed.Open(filepath.Join(folder, "secrets.age"), filepath.Join(folder, "key"))
	must(t, err)
	ids := &testIDs{}
	f.store = &records.Store{Table: f.table, Blobs: f.blobs, Clock: f.clock, IDs: ids, Notifier: f.hub}
	f.plane = newTestPlane(f.store)
	f.plane.hosts, f.woken = newHosts(f)
	key := sha256.Sum256([]byte("signing"))
	f.cfg = httpapi.Config{
		Plane: f.plane, Records: f.store, Blobs: f.blobs, Secrets: f.secrets, Waiter: f.hub,
		Authenticator: httpapi.StaticToken(testToken), Clock: f.clock, IDs: ids,
		Version:    berth.Version{Version: "1.2.3", Commit: "abc", Go: "go1.26", Installation: "inst", API: "v1"},
		SigningKey: key[:], Logger: f.log.logger(), PublicURL: "http://localhost/", Embedded: true,
	}
	for _, c := range change {
		c(&f.cfg)
	}
	f.api, err = httpapi.New(f.cfg)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := f.api.Close(ctx); err != nil {
			t.Errorf("closing the API: %v", err)
		}
	})
	return f
}

// dyingTable loses the ends of keyed requests while it is dying, as a server does
// that is killed between a request's effect and the record of it.
type dyingTable struct {
	berth.Table
	dying atomic.Bool
}

func (d *dyingTable) Put(ctx context.Context, item berth.Item) (int64, error) {
	if d.dying.Load() && item.Version > 0 && strings.HasPrefix(item.PK, "idem#") {
		return 0, berth.Errorf(berth.CodeUnavailable, "the server is dying")
	}
	return d.Table.Put(ctx, item)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// caller is one way to the API, with the token in each request.
type caller struct {
	t  *testing.T
	do httpapitest.Do
}

// both runs a scenario over HTTP and as gateway events.
func both(t *testing.T, scenario func(t *testing.T, f *fixture, c caller)) {
	t.Helper()
	t.Parallel()
	var f *fixture
	httpapitest.Both(t, func(t *testing.T) http.Handler {
		f = newFixture(t)
		return f.served(t)
	}, func(t *testing.T, do httpapitest.Do) {
		scenario(t, f, caller{t, served.noting(t, do)})
	})
}

// send takes `GET /path?query`, a body ("" is none) and headers as "Name: value".
func (c caller) send(line, body string, headers ...string) httpapitest.Response {
	c.t.Helper()
	return c.sendRaw(line, []byte(body), headers...)
}

func (c caller) sendRaw(line string, body []byte, headers ...string) httpapitest.Response {
	c.t.Helper()
	r := request(c.t, line, body, headers...)
	if _, given := r.Header["Authorization"]; !given {
		r.Header.Set("Authorization", "Bearer "+testToken)
	}
	return c.do(r)
}

// want sends and fails unless the status is the one that is expected.
func (c caller) want(status int, line, body string, headers ...string) httpapitest.Response {
	c.t.Helper()
	resp := c.send(line, body, headers...)
	if resp.Status != status {
		c.t.Fatalf("%s: status %d, want %d\n%s", line, resp.Status, status, resp.Body)
	}
	return resp
}

// wantProblem fails unless the answer is a problem with this code and these
// locations, and returns it.
func (c caller) wantProblem(code berth.Code, locations []string, line, body string, headers ...string) httpapi.ProblemDocument {
	c.t.Helper()
	return wantProblem(c.t, c.send(line, body, headers...), code, locations, line)
}

func wantProblem(t *testing.T, resp httpapitest.Response, code berth.Code, locations []string, what string) httpapi.ProblemDocument {
	t.Helper()
	if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("%s: status %d with content type %q, want a problem\n%s", what, resp.Status, got, resp.Body)
	}
	p := httpapitest.JSON[httpapi.ProblemDocument](t, resp)
	if p.Code != code || p.Status != code.Info().HTTP || resp.Status != code.Info().HTTP || p.Title != code.Info().Title {
		t.Fatalf("%s: status %d with the problem\n%s\nwant code %s", what, resp.Status, resp.Body, code)
	}
	if p.RequestID == "" || p.Detail == "" {
		t.Errorf("%s: the problem lacks a request id or a detail: %s", what, resp.Body)
	}
	got := []string{}
	for _, problem := range p.Errors {
		got = append(got, problem.Location)
	}
	if locations == nil {
		locations = []string{}
	}
	if diff := cmp.Diff(locations, got); diff != "" {
		t.Errorf("%s: locations of the problem's errors (-want +got):\n%s\n%s", what, diff, resp.Body)
	}
	return p
}

// seedRun records a run with a clone and a command stage, and a sandbox.
func (f *fixture) seedRun(id berth.RunID, sandbox berth.SandboxID) {
	f.t.Helper()
	env := berth.LocalEnvironment()
	stages := []berth.Stage{
		{ID: "01-prepare", Kind: berth.StagePrepare, Name: "prepare", Status: berth.StagePending},
		{ID: "02-command", Kind: berth.StageCommand, Name: "command", Status: berth.StagePending},
	}
	_, err := f.store.CreateRun(context.Background(), records.Head{ID: id, CreatedBy: "local"},
		berth.Definition{Environment: env, Command: []string{"true"}}, stages,
		berth.Sandbox{ID: sandbox, Environment: env.ID, Provider: berth.ProviderLocal, Status: berth.SandboxReady, Labels: map[string]string{}})
	must(f.t, err)
}

// change applies changes to a run's record.
func (f *fixture) change(id berth.RunID, change func(*records.Change) error) {
	f.t.Helper()
	_, err := f.store.ChangeRun(context.Background(), id, change)
	must(f.t, err)
}

func (f *fixture) endRun(id berth.RunID) {
	f.t.Helper()
	f.change(id, func(c *records.Change) error { c.SetStatus(berth.RunCancelled); return nil })
}

// frames builds a raw spool piece from "stdout:text" parts.
func frames(parts ...string) []byte {
	var raw []byte
	for _, part := range parts {
		name, text, _ := strings.Cut(part, ":")
		kind := map[string]spool.Type{"stdout": spool.TypeStdout, "stderr": spool.TypeStderr, "mark": spool.TypeMark}[name]
		raw = spool.AppendFrame(raw, kind, []byte(text))
	}
	return raw
}

const (
	runA     = berth.RunID("01kjm8e400000000000000ra00")
	runB     = berth.RunID("01kjm8e400000000000000rb00")
	sandboxA = berth.SandboxID("01kjm8e400000000000000sa00")
	sandboxB = berth.SandboxID("01kjm8e400000000000000sb00")
)

func readAll(t *testing.T, r io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	must(t, err)
	return b
}
