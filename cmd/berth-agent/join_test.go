//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/sandbox/remote"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// control is a control plane that takes hosts as a test wants.
type control struct {
	*httptest.Server
	t      *testing.T
	refuse *berth.Error // instead of taking one
	answer func(*berth.JoinedHost)
	reply  func(w http.ResponseWriter, path string) bool // of what is not a join

	mu     sync.Mutex // guards what follows
	joins  []berth.HostJoin
	health []agentapi.Health
	beats  []berth.Heartbeat
	nudges chan berth.Nudge
}

// stage is the path that an emulator has in front of the API.
const stage = "/_aws/execute-api/abc123/prod"

const hostKey = "bth_the-key-of-this-host"

func newControl(t *testing.T) *control {
	t.Helper()
	c := &control{t: t, nudges: make(chan berth.Nudge, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+stage+"/api/v1/hosts/join", c.join)
	mux.HandleFunc("POST "+stage+"/api/v1/hosts/{host}/heartbeat", func(w http.ResponseWriter, r *http.Request) {
		var beat berth.Heartbeat
		if c.known(w, r) && c.read(w, r, &beat) {
			c.mu.Lock()
			c.beats = append(c.beats, beat)
			c.mu.Unlock()
		}
	})
	mux.HandleFunc("POST "+stage+"/api/v1/hosts/{host}/nudge", func(w http.ResponseWriter, r *http.Request) {
		var nudge berth.Nudge
		if c.known(w, r) && c.read(w, r, &nudge) {
			c.nudges <- nudge
		}
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *control) read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		c.t.Errorf("%s: %v", r.URL, err)
		w.WriteHeader(http.StatusBadRequest)
		return false
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// known refuses who has not the host's key.
func (c *control) known(w http.ResponseWriter, r *http.Request) bool {
	if c.reply != nil && c.reply(w, r.URL.Path) {
		return false
	}
	if r.Header.Get("Authorization") != "Bearer "+hostKey || r.PathValue("host") != "h1" {
		c.t.Errorf("%s with %s", r.URL, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	return true
}

// join calls the agent back, as a control plane does.
func (c *control) join(w http.ResponseWriter, r *http.Request) {
	var ask berth.HostJoin
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || r.Header.Get("Authorization") != "" {
		c.t.Errorf("a join with %q: %v", r.Header.Get("Authorization"), err)
	}
	health, err := callBack(r.Context(), ask)
	refuse := c.refuse
	if err != nil {
		refuse = berth.Errorf(berth.CodeInvalid, "the call back: %v", err)
	}
	c.mu.Lock()
	c.joins, c.health = append(c.joins, ask), append(c.health, health)
	c.mu.Unlock()
	if refuse != nil {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(refuse.Code.Info().HTTP)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"code": refuse.Code, "detail": refuse.Message, "remediation": refuse.Remediation, "request_id": "r",
		})
		return
	}
	joined := berth.JoinedHost{Host: berth.Host{ID: "h1", Address: ask.Address}, Installation: installation, Key: hostKey}
	if c.answer != nil {
		c.answer(&joined)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(joined)
}

func callBack(ctx context.Context, ask berth.HostJoin) (agentapi.Health, error) {
	fingerprint, err := agentapi.ParseFingerprint(ask.Fingerprint)
	if err != nil {
		return agentapi.Health{}, err
	}
	p, err := remote.New(remote.Config{
		URL: ask.Address, Fingerprint: fingerprint, Token: ask.Bearer, Kind: berth.ProviderDocker, Installation: installation,
	})
	if err != nil {
		return agentapi.Health{}, err
	}
	defer p.Close()
	return p.Health(ctx)
}

// fakeEngine answers what is asked of an engine that has nothing to do.
func fakeEngine(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Ostype", "linux")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/version"):
			_, _ = w.Write([]byte(`{"Version":"28.0.0","Os":"linux","Arch":"amd64"}`))
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			_, _ = w.Write([]byte(`[]`))
		}
	})}}
	server.Start()
	t.Cleanup(server.Close)
	return "unix://" + path
}

// joinArgs are of a join that works.
func joinArgs(t *testing.T, c *control, dir folder, more ...string) []string {
	t.Helper()
	return append([]string{
		"join", c.URL + stage + "/", "--token", "the-token", "--data-dir", string(dir), "--listen", "127.0.0.1:0",
		"--docker-host", fakeEngine(t), "--guest", sandboxtest.BuildGuest(t),
	}, more...)
}

func absent(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
}

func TestAnAgentJoinsAServerThatCallsItBack(t *testing.T) {
	t.Parallel()
	c, dir := newControl(t), folder(filepath.Join(t.TempDir(), "agent"))
	status, stdout, stderr := command(t, joinArgs(t, c, dir, "--label", "zone=a", "--label", "gpu=")...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	ask, health := c.joins[0], c.health[0]
	if stdout != "h1\n"+ask.Address+"\n" || !strings.HasPrefix(ask.Address, "https://127.0.0.1:") || !strings.Contains(stderr, "systemctl enable --now") {
		t.Errorf("it printed %q and %q; the address is %s", stdout, stderr, ask.Address)
	}
	if ask.Token != "the-token" || len(ask.Labels) != 2 || ask.Labels["zone"] != "a" || ask.CPU < 1 || ask.MemoryBytes < 64<<20 || ask.DiskBytes <= 0 ||
		len(ask.Providers) != 1 || ask.Providers[0] != berth.ProviderDocker {
		t.Errorf("the join is %+v", ask)
	}
	if problems := berth.ValidateHostJoin(ask, true); len(problems) > 0 {
		t.Errorf("a server refuses it: %v", problems)
	}
	if health.Installation != installation || len(health.Providers) != 1 || health.Providers[0].Problem != "" || health.Providers[0].Engine != "28.0.0" || health.CPUs != ask.CPU {
		t.Errorf("the call back was answered with %+v", health)
	}
	member, joined, err := dir.member()
	if err != nil || !joined || member.Server != c.URL+stage || member.Host != "h1" || member.Installation != installation ||
		string(member.Key.Reveal()) != hostKey || "https://"+member.Listen != ask.Address {
		t.Errorf("recorded: %+v, %v", member, err)
	}
	if owner, err := dir.owner(); owner != installation || err != nil {
		t.Errorf("the agent belongs to %s, %v", owner, err)
	}
	for _, path := range []string{dir.host(), dir.token(), dir.certificate()} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if strings.Contains(stdout+stderr, hostKey) || strings.Contains(stdout+stderr, ask.Bearer) {
		t.Errorf("a secret is in %s%s", stdout, stderr)
	}
	status, _, stderr = command(t, joinArgs(t, c, dir)...)
	if status != 5 || !strings.Contains(stderr, "is host h1 of "+c.URL) || len(c.joins) != 1 {
		t.Errorf("joining again: %d %s", status, stderr)
	}

	if status, _, stderr := command(t, "leave", "--data-dir", string(dir)); status != 0 || !strings.Contains(stderr, "berth host rm h1") {
		t.Errorf("leave: %d %s", status, stderr)
	}
	absent(t, dir.host(), dir.token())
	if status, _, stderr := command(t, "leave", "--data-dir", string(dir)); status != 4 || !strings.Contains(stderr, "to do:") {
		t.Errorf("leaving again: %d %s", status, stderr)
	}
	if status, _, stderr := command(t, joinArgs(t, c, dir)...); status != 0 || c.joins[1].Bearer == ask.Bearer || c.joins[1].Fingerprint != ask.Fingerprint {
		t.Errorf("joining after that: %d %s; the bearer must be another, the certificate the same", status, stderr)
	}
}

func TestARefusalIsShownAsItIsAndLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for _, refuse := range []*berth.Error{
		{Code: berth.CodeUnauthenticated, Message: "the token expired on 2026-03-01", Remediation: "Have another one made: berth host add h1"},
		{Code: berth.CodeConflict, Message: "the token was used: it is good once", Remediation: "Add it anew."},
		{Code: berth.CodeInvalid, Message: "the address cannot be called back", Remediation: "Let the server reach this address: see firewalls and security groups."},
	} {
		t.Run(string(refuse.Code), func(t *testing.T) {
			t.Parallel()
			c, dir := newControl(t), folder(filepath.Join(t.TempDir(), "agent"))
			c.refuse = refuse
			status, stdout, stderr := command(t, joinArgs(t, c, dir)...)
			if status != refuse.Code.Info().CLI || stdout != "" || !strings.Contains(stderr, "berth-agent: "+string(refuse.Code)+": "+refuse.Message) ||
				!strings.Contains(stderr, "to do: "+refuse.Remediation) {
				t.Errorf("%d %q %s", status, stdout, stderr)
			}
			absent(t, dir.host(), dir.installation())
			c.refuse = nil
			if status, _, stderr := command(t, joinArgs(t, c, dir)...); status != 0 {
				t.Errorf("with a token that is good: %d %s", status, stderr)
			}
		})
	}
}

func TestAJoinThatCannotComeToAnythingSaysWhy(t *testing.T) {
	t.Parallel()
	c, engine, guest := newControl(t), fakeEngine(t), sandboxtest.BuildGuest(t)
	foreign := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(foreign.Close)
	here := c.URL + stage
	for _, tt := range []struct {
		name   string
		args   []string
		stdin  string
		status int
		want   string
	}{
		{"no URL", []string{"--token", "t"}, "", 2, "the one argument is the server's URL"},
		{"two URLs", []string{here, here, "--token", "t"}, "", 2, "the one argument is the server's URL"},
		{"a URL that is none", []string{"berth.example.com", "--token", "t"}, "", 2, "must be like https://host/stage"},
		{"a URL with a password", []string{"https://a:b@example.com", "--token", "t"}, "", 2, "holds a user name or a password"},
		{"plain http to another machine", []string{"http://192.0.2.1/prod", "--token", "t"}, "", 2, "--insecure"},
		{"no token", []string{here}, "", 2, "berth host add"},
		{"no token at standard input", []string{here, "--token", "-"}, " \n", 2, "berth host add"},
		{"a label that is none", []string{here, "--token", "t", "--label", "zone"}, "", 2, "must be NAME=VALUE"},
		{"a label twice", []string{here, "--token", "t", "--label", "a=1", "--label", "a=2"}, "", 2, "each name once"},
		{"a label that berth sets", []string{here, "--token", "t", "--label", berth.ReservedLabelPrefix + "x=1"}, "", 2, "kept for labels that berth sets"},
		{"an address without a scheme", []string{here, "--token", "t", "--address", "10.0.0.7:7443"}, "", 2, "--address"},
		{"an address with a path", []string{here, "--token", "t", "--address", "https://10.0.0.7:7443/agent"}, "", 2, "--address"},
		{"only this machine reaches it", []string{"https://192.0.2.1/prod", "--token", "t", "--listen", "127.0.0.1:0"}, "", 2, "listen on :7443"},
		{"a port that is taken", []string{here, "--token", "t", "--listen", strings.TrimPrefix(c.URL, "http://")}, "", 6, "choose another --listen"},
		{"no engine", []string{here, "--token", "t", "--docker-host", "unix:///nonexistent.sock"}, "", 6, "Docker"},
		{"no docker at all", []string{here, "--token", "t", "--docker=off", "--allow-local"}, "", 6, "a host brings docker"},
		{"no provider", []string{here, "--token", "t", "--docker=off"}, "", 2, "no provider is on"},
		{"not a berth server", []string{foreign.URL, "--token", "t"}, "", 4, "not as a berth server"},
		{"nobody there", []string{"http://127.0.0.1:1", "--token", "t"}, "", 6, "cannot be reached"},
	} {
		dir := folder(filepath.Join(t.TempDir(), "agent"))
		args := append([]string{"join", "--data-dir", string(dir), "--guest", guest}, tt.args...)
		if !strings.Contains(strings.Join(args, " "), "--docker-host") {
			args = append(args, "--docker-host", engine)
		}
		if !strings.Contains(strings.Join(args, " "), "--listen") {
			args = append(args, "--listen", "127.0.0.1:0")
		}
		var stdout, stderr bytes.Buffer
		root := rootCommand()
		root.SetIn(strings.NewReader(tt.stdin))
		status := runRoot(t.Context(), root, args, &stdout, &stderr)
		if status != tt.status || !strings.Contains(stderr.String(), tt.want) || !strings.Contains(stderr.String(), "to do:") || stdout.Len() > 0 {
			t.Errorf("%s: status %d, %s", tt.name, status, &stderr)
		}
		absent(t, dir.host(), dir.installation())
	}
	if len(c.joins) > 0 {
		t.Errorf("%d joins were sent", len(c.joins))
	}
}

func TestTheTokenIsReadFromStandardInput(t *testing.T) {
	t.Parallel()
	c, dir := newControl(t), folder(filepath.Join(t.TempDir(), "agent"))
	args := joinArgs(t, c, dir)
	args[3] = "-"
	var stdout, stderr bytes.Buffer
	root := rootCommand()
	root.SetIn(strings.NewReader("from-stdin\n"))
	if status := runRoot(t.Context(), root, args, &stdout, &stderr); status != 0 || c.joins[0].Token != "from-stdin" {
		t.Errorf("%d %s", status, &stderr)
	}
}

func TestAnAnswerThatIsNotWholeIsNoJoin(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*berth.JoinedHost){
		"without the host's id, key or installation": func(j *berth.JoinedHost) { j.Key = "" },
		"has called back": func(j *berth.JoinedHost) { j.Installation = "another" },
	} {
		c, dir := newControl(t), folder(filepath.Join(t.TempDir(), "agent"))
		c.answer = spoil
		if status, _, stderr := command(t, joinArgs(t, c, dir)...); status == 0 || !strings.Contains(stderr, name) {
			t.Errorf("%s: %d %s", name, status, stderr)
		}
		absent(t, dir.host())
	}
}

func TestWhatBelongsToOneInstallationDoesNotJoinAnother(t *testing.T) {
	t.Parallel()
	c, dir := newControl(t), folder(filepath.Join(t.TempDir(), "agent"))
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dir.setOwner("theirs"); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := command(t, joinArgs(t, c, dir)...)
	if status != 2 || !strings.Contains(stderr, "belongs to another installation, theirs") {
		t.Errorf("%d %s", status, stderr)
	}
	absent(t, dir.host())
	if owner, err := dir.owner(); owner != "theirs" || err != nil {
		t.Errorf("the agent belongs to %s, %v", owner, err)
	}
}
