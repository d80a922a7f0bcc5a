//go:build linux

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/hostagent/membership"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
)

// joinedProcess is an agent that has joined c, with the provider local, which
// needs no engine. It is not started.
func joinedProcess(t *testing.T, c *control) *process {
	t.Helper()
	p := &process{kind: berth.ProviderLocal, dir: folder(filepath.Join(t.TempDir(), "agent")), guest: sandboxtest.BuildGuest(t)}
	if err := os.MkdirAll(string(p.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	member := membership.Record{
		Server: c.URL + stage, Installation: installation, Host: "h1", Key: berth.NewSecretValue([]byte(hostKey)),
		Address: "https://127.0.0.1:7443", Listen: "127.0.0.1:0", JoinedAt: time.Unix(1e9, 0),
	}
	if err := member.Write(p.dir.host()); err != nil {
		t.Fatal(err)
	}
	return p // the record says whom it belongs to, whether or not that is written twice
}

// until waits for what must happen.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func TestAHostSendsHeartbeatsAndNudgesWithItsOwnKey(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	p := joinedProcess(t, c)
	p.start(t)
	t.Cleanup(p.kill)
	until(t, "a heartbeat", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.beats) == 1
	})
	if problems := berth.ValidateHeartbeat(c.beats[0]); len(problems) > 0 {
		t.Errorf("a server refuses the heartbeat: %v", problems)
	}
	r := p.connect(t)
	ref := ready(t, r)
	if err := r.StartCommand(t.Context(), ref, berth.CommandSpec{ID: "c", Script: "read x; echo $x", Stdin: true}); err != nil {
		t.Fatal(err)
	}
	out, err := r.ReadOutput(t.Context(), ref, "c", 0, 0, patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Arm(t.Context(), ref, "c", out.Next); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-c.nudges:
		t.Fatalf("a nudge for %+v while the command is quiet", n)
	case <-time.After(200 * time.Millisecond):
	}
	if _, err := r.WriteInput(t.Context(), ref, "c", 0, []byte("hello\n"), true); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-c.nudges:
		if n != (berth.Nudge{Sandbox: ref.ID, Command: "c"}) {
			t.Errorf("a nudge for %+v", n)
		}
	case <-time.After(patience):
		t.Error("no nudge came")
	}
	if status := p.end(t); status != 0 {
		t.Errorf("it ended with %d: %s", status, &p.stderr)
	}
	if !strings.Contains(p.stderr.String(), "host h1 of "+c.URL) || strings.Contains(p.stderr.String(), hostKey) {
		t.Errorf("it said %s", &p.stderr)
	}
	p.start(t) // so that the sandbox can be destroyed
}

func TestAHostWhoseKeyWasRevokedSaysSoAndGoesOnServing(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	c.reply = func(w http.ResponseWriter, _ string) bool {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"code":"unauthenticated","detail":"the key is not known"}`))
		return true
	}
	p := joinedProcess(t, c)
	p.start(t)
	t.Cleanup(p.kill)
	until(t, "the log says so", func() bool {
		log, err := os.ReadFile(p.dir.log())
		return err == nil && strings.Contains(string(log), "does not take this host's key any more")
	})
	if health, err := p.connect(t).Health(t.Context()); err != nil || health.Installation != installation {
		t.Errorf("Health = %+v, %v", health, err)
	}
}

func TestAHostWithoutItsServerServes(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	p := joinedProcess(t, c)
	c.Close()
	p.start(t)
	t.Cleanup(p.kill)
	until(t, "the log says so", func() bool {
		log, err := os.ReadFile(p.dir.log())
		return err == nil && strings.Contains(string(log), "heartbeats do not arrive")
	})
	if _, err := p.connect(t).Health(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestARecordThatOthersReadIsRefused(t *testing.T) {
	t.Parallel()
	p := joinedProcess(t, newControl(t))
	if err := os.Chmod(p.dir.host(), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := p.command().CombinedOutput(); err == nil || !strings.Contains(string(out), "chmod 600") {
		t.Errorf("%v, %s", err, out)
	}
}

func TestAnAgentThatItsServerCannotReachWarns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		address, listened string
		warns             bool
	}{
		{"https://10.0.0.7:7443", "https://127.0.0.1:7443", true},
		{"https://10.0.0.7:7443", "https://10.0.0.7:7443", false},
		{"https://203.0.113.7:7443", "https://ip-10-0-0-7:7443", false},
		{"https://127.0.0.1:7443", "https://127.0.0.1:7443", false},
	} {
		if got := misses(membership.Record{Address: tt.address}, tt.listened); (got != "") != tt.warns {
			t.Errorf("called at %s, listening on %s: %q", tt.address, tt.listened, got)
		}
	}
}

func TestTheLimitsOfAContainerThatIsAHostCount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  agentapi.Capacity
	}{
		{"none", nil, agentapi.Capacity{CPUs: 8, MemoryBytes: 16 << 30}},
		{"version 2", map[string]string{"memory.max": "4294967296\n", "cpu.max": "250000 100000\n"}, agentapi.Capacity{CPUs: 2, MemoryBytes: 4 << 30}},
		{"version 2 without limits", map[string]string{"memory.max": "max\n", "cpu.max": "max 100000\n"}, agentapi.Capacity{CPUs: 8, MemoryBytes: 16 << 30}},
		{"version 1", map[string]string{
			"memory/memory.limit_in_bytes": "1073741824\n", "cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n",
		}, agentapi.Capacity{CPUs: 1, MemoryBytes: 1 << 30}},
		{"version 1 without limits", map[string]string{
			"memory/memory.limit_in_bytes": "9223372036854771712\n", "cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n",
		}, agentapi.Capacity{CPUs: 8, MemoryBytes: 16 << 30}},
		{"more than there is", map[string]string{"memory.max": "1099511627776", "cpu.max": "6400000 100000"}, agentapi.Capacity{CPUs: 8, MemoryBytes: 16 << 30}},
		{"nonsense", map[string]string{"memory.max": "lots", "cpu.max": "0 0"}, agentapi.Capacity{CPUs: 8, MemoryBytes: 16 << 30}},
	} {
		root := t.TempDir()
		for name, text := range tt.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := limitsIn(root).bound(8, 16<<30); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
