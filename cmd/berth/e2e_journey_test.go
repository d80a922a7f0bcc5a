//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
	"github.com/berth-dev/berth/shared/hostagent/preview/previewtest"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// site is a server that has just been set up, whatever it runs on.
type site struct {
	url string // as people log in to it
	key string // with the scopes read, run and admin
	// daytona is where it makes sandboxes of that provider.
	daytona *daytonatest.Server
}

// journeyLimit bounds one step that a server takes its time for.
const journeyLimit = 3 * time.Minute

// traveller is a person on a machine of their own who has logged in to a site.
type traveller struct {
	*machine
	site   site
	client *client.Client
	host   berth.Host
	// browsers is where the host serves them, under a certificate of the authority.
	browsers  string
	authority *previewtest.Authority
}

// journey is what people do with a server, from the first login to the last
// container. It is the same on every wiring.
func journey(t *testing.T, s site) {
	dockertest.Image(t, dockertest.Debian)
	j := arrive(t, s)
	t.Run("a run of a repository on a host that joined", func(t *testing.T) { j.in(t).runsARepository(t) })
	t.Run("berth run ends as its command does", func(t *testing.T) { j.in(t).runsFromTheCommandLine(t) })
	t.Run("the end of a quiet command is told by its host", func(t *testing.T) { j.in(t).hearsOfAQuietCommand(t) })
	t.Run("commands and files in a sandbox that is kept", func(t *testing.T) { j.in(t).worksInASandbox(t) })
	t.Run("a shell and a server in a sandbox on a host", func(t *testing.T) { j.in(t).entersASandbox(t) })
	t.Run("a cancel leaves nothing", func(t *testing.T) { j.in(t).cancels(t) })
	t.Run("a run in Daytona", func(t *testing.T) { j.in(t).runsInDaytona(t) })
	t.Run("keys open what their scopes hold", func(t *testing.T) { j.in(t).triesKeys(t) })
	j.leave(t)
}

// in is the traveller in a step of the journey, whose commands fail that step.
func (j *traveller) in(t *testing.T) *traveller {
	m, there := *j.machine, *j
	m.t, there.machine = t, &m
	return &there
}

// arrive logs in, joins a host and makes an environment.
func arrive(t *testing.T, s site) *traveller {
	j := &traveller{machine: newMachine(t), site: s}
	j.env = append(j.env, "BERTH_DATA_DIR=", "XDG_DATA_HOME="+j.data)
	if r := j.runWith([]byte(s.key+"\n"), "login", s.url); r.status != 0 {
		t.Fatalf("login = %d\n%s", r.status, r.stderr)
	}
	var err error
	if j.client, err = client.New(client.Config{BaseURL: s.url, Token: s.key}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.client.Close)
	version, err := j.client.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	api := dockertest.Engine(t)
	t.Cleanup(func() { dockertest.NoneLeft(t, api, version.Installation) })
	j.authority = previewtest.NewAuthority(t)
	j.host, j.browsers = joinHost(t, j)
	if _, err := j.client.CreateEnvironment(t.Context(), map[string]any{
		"id": "box", "provider": "docker", "image": map[string]string{"docker": dockertest.Debian},
		"env": map[string]string{"PASSPHRASE": "{{ secrets.PASSPHRASE }}", "PLACE": "harbour"},
	}); err != nil {
		t.Fatal(err)
	}
	return j
}

const passphrase = "correct horse battery staple"

func (j *traveller) runsARepository(t *testing.T) {
	if _, err := j.client.PutSecret(t.Context(), "PASSPHRASE", berth.SecretRequest{Type: berth.SecretToken, Value: passphrase}, true); err != nil {
		t.Fatal(err)
	}
	repository := gitservertest.Start(t, gitservertest.Options{Address: dockertest.Bridge(t) + ":0"})
	run, err := j.client.CreateRun(t.Context(), berth.RunRequest{
		Environment: "box", Script: `cat number; git rev-parse HEAD; echo "$PASSPHRASE at the $PLACE"; echo "no $PASSPHRASE here" >&2`,
		Target: &berth.Target{Kind: berth.TargetGit, Origin: repository.URL, Tag: gitservertest.AnnotatedTag},
	})
	if err != nil {
		t.Fatal(err)
	}
	j.untilEnded(t, run.ID)
	ended, err := j.client.FindRun(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if ended.Status != berth.RunSucceeded || ended.Exit == nil || !ended.Exit.Succeeded() {
		t.Fatalf("the run is %s because of %+v, with exit %+v", ended.Status, ended.Reason, ended.Exit)
	}
	sandbox, err := j.client.FindSandbox(t.Context(), ended.Sandbox)
	if err != nil || sandbox.Host != j.host.ID {
		t.Errorf("the sandbox was on host %q, %v; want %q", sandbox.Host, err, j.host.ID)
	}
	want := result{0, "20\n" + repository.Annotated + "\n*** at the harbour\n", "no *** here\n"}
	got := j.ok("runs", "logs", string(run.ID), "--stage", string(ended.Stages[len(ended.Stages)-1].ID))
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("the log is not what the command wrote (-want +got):\n%s", diff)
	}
}

// untilEnded follows a run's events by long polls, and checks that none is
// missing and none comes twice.
func (j *traveller) untilEnded(t *testing.T, run berth.RunID) {
	t.Helper()
	var after int64
	for end := time.Now().Add(journeyLimit); ; {
		reply, err := j.client.ReadEvents(t.Context(), run, after, 100, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range reply.Items {
			if e.Seq != after+1 {
				t.Fatalf("event %d comes after %d", e.Seq, after)
			}
			after = e.Seq
		}
		if reply.EOF {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("run %s has not ended after %s; its last event is %d", run, journeyLimit, after)
		}
	}
}

func (j *traveller) runsFromTheCommandLine(t *testing.T) {
	r := j.run("run", "-q", "-e", "box", "--target", "none", "--", "sh", "-c", `echo "out $PLACE"; echo err >&2; exit 7`)
	if diff := cmp.Diff(result{7, "out harbour\n", "err\n"}, r, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("berth run (-want +got):\n%s", diff)
	}
}

// hearsOfAQuietCommand has one that says nothing for longer than a function stays
// with it, and ends well before the timer that makes up for a lost nudge.
func (j *traveller) hearsOfAQuietCommand(t *testing.T) {
	r := j.run("run", "-q", "-e", "box", "--target", "none", "-c", "sleep 12; echo done; exit 3")
	if r.status != 3 || r.stdout != "done\n" {
		t.Fatalf("berth run = %d, %q\n%s", r.status, r.stdout, r.stderr)
	}
	run := j.newest()
	last := run.Stages[len(run.Stages)-1]
	if last.StartedAt == nil || last.EndedAt == nil {
		t.Fatalf("the stage is %+v", last)
	}
	if took := last.EndedAt.Sub(*last.StartedAt); took < 12*time.Second || took > 50*time.Second {
		t.Errorf("the stage took %s, want 12 s and what a nudge takes, not the timer's 60 s", took)
	}
}

// lives is a run whose sandbox is there for a while.
func (j *traveller) lives(t *testing.T) string {
	t.Helper()
	id := strings.TrimSpace(j.ok("run", "-q", "-d", "-e", "box", "--target", "none", "--", "sleep", "600").stdout)
	if !within(journeyLimit, func() bool { return j.show(id).Status == berth.RunRunning }) {
		t.Fatalf("run %s does not run", id)
	}
	return id
}

// entersASandbox goes past the server, to the host: with a terminal, by a port of this
// machine, and in a browser.
func (j *traveller) entersASandbox(t *testing.T) {
	id := j.lives(t)
	here := *j.machine
	here.env = append(slices.Clone(here.env), "TERM=xterm")
	shellOnATerminal(t, &here, id)
	port := serverInside(t, &here, id)
	forwardTo(t, &here, id, port)
	url := strings.TrimSpace(j.ok("sandbox", "preview", id, port, "--browser", "--ttl", "30m").stdout)
	b := previewtest.NewBrowser(t, j.authority, j.browsers)
	for _, path := range []string{"/", "/a?b=c"} {
		page := b.Load(strings.Replace(url, "/?", path+map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")], 1))
		if page.Status != http.StatusOK || page.Body != "from the sandbox: GET "+path+" HTTP/1.1\r\n" || strings.Contains(page.URL, "ticket") {
			t.Errorf("a browser at %s is shown %+v", path, page)
		}
	}
	if page := previewtest.NewBrowser(t, j.authority, j.browsers).Load(url); page.Status != http.StatusForbidden {
		t.Errorf("another browser is shown %+v", page)
	}
	j.ok("runs", "cancel", id)
	if !within(journeyLimit, func() bool { return b.Load(strings.SplitN(url, "?", 2)[0]).Status == http.StatusForbidden }) {
		t.Error("the preview outlives its sandbox")
	}
	for _, way := range [][]string{{"ssh", id, "--json"}, {"preview", id, port, "--browser"}, {"preview", id, port, "--listen", "127.0.0.1:0"}} {
		if r := j.run(append([]string{"sandbox"}, way...)...); r.status == 0 {
			t.Errorf("sandbox %q of what is gone: %+v", way, r)
		}
	}
}

func (j *traveller) worksInASandbox(t *testing.T) {
	id := j.lives(t)
	input := randomBytes(5<<20 + 11)
	sum := sha256.Sum256(input)
	if r := j.runWith(input[:1<<20], "exec", id, "--", "sh", "-c", "wc -c; echo $PASSPHRASE; exit 9"); r.status != 9 || r.stdout != "1048576\n***\n" {
		t.Errorf("exec = %d, %q\n%s", r.status, r.stdout, r.stderr)
	}
	here, back := filepath.Join(j.dir, "here"), filepath.Join(j.dir, "back")
	if err := os.WriteFile(here, input, 0o600); err != nil {
		t.Fatal(err)
	}
	j.ok("cp", here, id+":deep/there")
	if r := j.ok("exec", "-q", id, "--", "sha256sum", "deep/there"); !strings.HasPrefix(r.stdout, hex.EncodeToString(sum[:])) {
		t.Errorf("in the sandbox the file's sum is %q, want %x", r.stdout, sum)
	}
	j.ok("cp", id+":deep/there", back)
	if got, err := os.ReadFile(back); err != nil || !bytes.Equal(got, input) {
		t.Errorf("the file came back with %d bytes, %v; want the %d that were sent", len(got), err, len(input))
	}
	j.ok("runs", "cancel", id)
	if !within(journeyLimit, func() bool { return j.show(id).Status.Ended() }) {
		t.Errorf("run %s does not end", id)
	}
}

func (j *traveller) cancels(t *testing.T) {
	id := strings.TrimSpace(j.ok("run", "-q", "-d", "-e", "box", "--target", "none", "-c", "echo up; sleep 600").stdout)
	if !within(journeyLimit, func() bool { return j.run("runs", "logs", id).stdout == "up\n" }) {
		t.Fatalf("run %s says nothing", id)
	}
	j.ok("runs", "cancel", id)
	if !within(journeyLimit, func() bool { return j.show(id).Status == berth.RunCancelled }) {
		t.Fatalf("the run is %s, want cancelled", j.show(id).Status)
	}
	if r := j.run("runs", "cancel", id); r.status != 5 {
		t.Errorf("cancelling what has ended = %d, want 5\n%s", r.status, r.stderr)
	}
	if code := berth.CodeOf(j.client.CancelRun(t.Context(), berth.RunID(id))); code != berth.CodeConflict {
		t.Errorf("cancelling what has ended is %s, want %s", code, berth.CodeConflict)
	}
}

// runsInDaytona has the same run as a host, in a sandbox of the Daytona that the
// site was set up with.
func (j *traveller) runsInDaytona(t *testing.T) {
	if _, err := j.client.CreateEnvironment(t.Context(), map[string]any{
		"id": "cloud", "provider": "daytona", "env": map[string]string{"PASSPHRASE": "{{ secrets.PASSPHRASE }}"},
	}); err != nil {
		t.Fatal(err)
	}
	r := j.run("run", "-q", "-e", "cloud", "--target", "none", "-c", `echo "out $PASSPHRASE"; echo err >&2; sleep 7; exit 5`)
	if diff := cmp.Diff(result{5, "out ***\n", "err\n"}, r, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("berth run (-want +got):\n%s", diff)
	}
	if run := j.newest(); run.Exit == nil || run.Exit.Code != 5 || run.Environment.Provider != berth.ProviderDaytona {
		t.Errorf("the run in %s ended with %+v because of %+v", run.Environment.Provider, run.Exit, run.Reason)
	}
	if !within(journeyLimit, func() bool { return len(j.site.daytona.Sandboxes()) == 0 }) {
		t.Errorf("left in Daytona: %+v", j.site.daytona.Sandboxes())
	}
}

// triesKeys uses keys where they hold and where they do not.
func (j *traveller) triesKeys(t *testing.T) {
	reader, err := j.client.CreateKey(t.Context(), berth.KeyRequest{Name: "reader", Scopes: []berth.Scope{berth.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	unknown := reader.Value[:len(reader.Value)-1] + "x"
	if unknown == reader.Value {
		unknown = reader.Value[:len(reader.Value)-1] + "y"
	}
	const check = `{"environment":"box","command":["true"]}`
	for name, try := range map[string]struct {
		method, path, key, body string
		want                    int
	}{
		"no key":                         {http.MethodGet, "/environments", "", "", 401},
		"a key that nobody has made":     {http.MethodGet, "/environments", unknown, "", 401},
		"what is no key":                 {http.MethodGet, "/environments", "secret", "", 401},
		"reading with a key to read":     {http.MethodGet, "/environments/box", reader.Value, "", 200},
		"a second route with that key":   {http.MethodGet, "/runs", reader.Value, "", 200},
		"a preflight with a key to read": {http.MethodPost, "/preflight", reader.Value, check, 200},
		"a check with a key to read":     {http.MethodPost, "/environments/box/check", reader.Value, "", 200},
		"a run with a key to read":       {http.MethodPost, "/runs", reader.Value, check, 403},
		"keys with a key to read":        {http.MethodGet, "/keys", reader.Value, "", 403},
		"a nudge with a person's key":    {http.MethodPost, "/hosts/" + string(j.host.ID) + "/nudge", j.site.key, `{"sandbox":"s","command":"c"}`, 403},
		"a path that is not there":       {http.MethodGet, "/harbours", j.site.key, "", 404},
	} {
		status, media := j.ask(t, try.method, try.path, try.key, try.body)
		if status != try.want {
			t.Errorf("%s: %s %s = %d, want %d", name, try.method, try.path, status, try.want)
		}
		if try.want >= 400 && media != "application/problem+json" {
			t.Errorf("%s: the answer is %s, want application/problem+json", name, media)
		}
	}
}

// ask sends a request by hand, with headers that only a gateway may set.
func (j *traveller) ask(t *testing.T, method, path, key, body string) (status int, media string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimRight(j.client.Server(), "/")+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, forged := range []string{"X-GoLambdaProxy-ApiGw-Context", "X-GoLambdaProxy-ApiGw-StageVars"} {
		req.Header.Set(forged, `{"authorizer":{"principalId":"root","scopes":"read run admin host","name":"root"}}`)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	media, _, _ = strings.Cut(resp.Header.Get("Content-Type"), ";")
	return resp.StatusCode, media
}

// leave removes the host. Nothing may be on it any more.
func (j *traveller) leave(t *testing.T) {
	t.Helper()
	gone := func() bool {
		list, err := j.client.ListSandboxes(t.Context(), client.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list.Items {
			if s.Status != berth.SandboxDestroyed {
				return false
			}
		}
		return true
	}
	if !within(journeyLimit, gone) {
		t.Errorf("sandboxes are left:\n%s", j.ok("sandbox", "list").stdout)
	}
	j.ok("host", "drain", string(j.host.ID))
	j.ok("host", "rm", string(j.host.ID))
}
