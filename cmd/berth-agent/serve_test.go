//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/privatefile"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/remote"
	"github.com/berth-dev/berth/shared/tokenfile"
)

// command runs a command line of the program in this process.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	status = run(ctx, args, &out, &errs)
	return status, out.String(), errs.String()
}

func TestWrongUsageNamesTheRemedy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shown := filepath.Join(dir, "shown")
	if err := os.WriteFile(shown, []byte("a-token-that-others-read"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := folder(filepath.Join(dir, "broken"))
	if err := os.MkdirAll(string(broken), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := privatefile.Write(broken.certificate(), []byte("no certificate")); err != nil {
		t.Fatal(err)
	}
	good := []string{"serve", "--allow-local", "--guest", "/bin/true", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "good")}
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"an unknown command", []string{"swerve"}, 2, "swerve"},
		{"an unknown flag", []string{"serve", "--allow-locals"}, 2, "allow-locals"},
		{"an argument too many", []string{"serve", "now"}, 2, "now"},
		{"no provider", []string{"serve", "--docker=off", "--data-dir", filepath.Join(dir, "none")}, 2, "--allow-local"},
		{"docker neither auto nor off", append(good, "--docker", "yes"), 2, "--docker"},
		{"credentials that are not there", append(good, "--docker-auth", filepath.Join(dir, "none")), 6, "--docker-auth"},
		{"credentials that are none", append(good, "--docker-auth", shown), 2, "config.json"},
		{"a size without a unit", append(good, "--min-free-disk", "512"), 2, "--min-free-disk"},
		{"an installation that is none", append(good, "--installation", "../x"), 2, "--installation"},
		{"an address that is none", append(good, "--listen", "nowhere"), 6, "--listen"},
		{"a folder that is a file", append(good, "--data-dir", shown), 6, "--data-dir"},
		{"a token that others may read", append(good, "--token-file", shown), 2, "chmod 600"},
		{"a certificate that is none", append(good, "--data-dir", string(broken)), 2, "certificate.pem"},
		{"the fingerprint of nothing", []string{"fingerprint", "--data-dir", filepath.Join(dir, "none")}, 4, "berth-agent serve"},
	} {
		status, stdout, stderr := command(t, tt.args...)
		if status != tt.status || !strings.Contains(stderr, tt.want) || !strings.Contains(stderr, "to do:") || stdout != "" {
			t.Errorf("%s: status %d, stdout %q, stderr %s", tt.name, status, stdout, stderr)
		}
		if strings.Contains(stderr, "a-token-that-others-read") {
			t.Errorf("%s: the token is in %s", tt.name, stderr)
		}
	}
	if status, stdout, _ := command(t, "version"); status != 0 || !strings.HasPrefix(stdout, "berth-agent ") {
		t.Errorf("version: %d %q", status, stdout)
	}
	for _, args := range [][]string{nil, {"--help"}, {"serve", "--help"}, {"fingerprint", "--help"}} {
		if status, stdout, _ := command(t, args...); status != 0 || !strings.Contains(stdout, "Usage:") || strings.Contains(stdout, "--guest") {
			t.Errorf("%v: %d %q", args, status, stdout)
		}
	}
}

func TestAnAgentKeepsItsKeyAndItsFolderToItself(t *testing.T) {
	t.Parallel()
	agent := startProcess(t, berth.ProviderLocal)
	first, err := os.ReadFile(agent.dir.certificate())
	if err != nil {
		t.Fatal(err)
	}
	status, stdout, _ := command(t, "fingerprint", "--data-dir", string(agent.dir))
	if certificate, err := agent.dir.readCertificate(); err != nil || status != 0 || stdout != fingerprintOf(certificate).String()+"\n" {
		t.Errorf("fingerprint: %d %q, %v", status, stdout, err)
	}
	out, err := agent.command().CombinedOutput()
	if err == nil || !strings.Contains(string(out), "conflict: another agent uses the data folder") {
		t.Errorf("a second agent: %v, %s", err, out)
	}
	agent.kill()
	agent.start(t) // the lock has died with the first
	if again, err := os.ReadFile(agent.dir.certificate()); err != nil || !bytes.Equal(again, first) {
		t.Errorf("the key is another one after a start: %v", err)
	}
	err = filepath.WalkDir(string(agent.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && path != string(agent.dir.guests()) && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAnAgentServesOneInstallationForGood(t *testing.T) {
	t.Parallel()
	agent := startProcess(t, berth.ProviderLocal)
	ready(t, agent.connect(t))
	for range 2 {
		other, err := connectTo(agent.dir, agent.url, berth.ProviderLocal, "another")
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.List(t.Context()); berth.CodeOf(err) != berth.CodeForbidden || !strings.Contains(err.Error(), string(installation)) {
			t.Errorf("List of another installation: %v", err)
		}
		agent.kill()
		agent.start(t)
	}
	agent.kill()
	out, err := agent.command("--installation", "another").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "belong to the installation "+string(installation)) {
		t.Errorf("an agent with another installation: %v, %s", err, out)
	}
	agent.start(t)
}

func TestTheWrongTokenAndTheWrongProtocolGetNothing(t *testing.T) {
	t.Parallel()
	agent := startProcess(t, berth.ProviderLocal)
	certificate, err := agent.dir.readCertificate()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := remote.New(remote.Config{
		URL: agent.url, Fingerprint: fingerprintOf(certificate), Token: "guessed", Kind: berth.ProviderLocal, Installation: "thief",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Health(t.Context()); berth.CodeOf(err) != berth.CodeUnauthenticated {
		t.Errorf("Health with another token: %v", err)
	}
	if _, err := os.Stat(agent.dir.installation()); !os.IsNotExist(err) {
		t.Errorf("the agent belongs to who has no token: %v", err)
	}
	resp, err := http.Get("http://" + agent.listen + "/v1/health")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", resp.Status)
	}
	health, err := agent.connect(t).Health(t.Context())
	if err != nil || health.CPUs < 1 || health.MemoryBytes < 64<<20 || health.FreeDiskBytes <= 0 || health.Installation != installation ||
		len(health.Providers) != 1 || health.Providers[0].Kind != berth.ProviderLocal {
		t.Errorf("Health = %+v, %v", health, err)
	}
}

func TestAHostWithoutRoomRefusesASandboxWithTheReason(t *testing.T) {
	t.Parallel()
	agent := startProcess(t, berth.ProviderLocal)
	agent.kill()
	agent.more = []string{"--min-free-disk", "1000TB"}
	agent.start(t)
	state, err := agent.connect(t).Provision(t.Context(), berth.SandboxSpec{ID: "01arz3ndektsv4rrffq69g5fav", Run: "r", Directory: t.TempDir()})
	if err != nil || state.Status != berth.SandboxFailed || state.Reason == nil || !strings.Contains(state.Reason.Remediation, "--min-free-disk") {
		t.Errorf("Provision = %+v, %v", state, err)
	}
}

func TestASecretIsNeitherInTheAgentsFolderNorItsOutput(t *testing.T) {
	t.Parallel()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		secretStaysOut(t, berth.ProviderLocal)
	})
	t.Run("docker", func(t *testing.T) {
		t.Parallel()
		dockertest.Image(t, dockertest.Static)
		secretStaysOut(t, berth.ProviderDocker)
	})
}

func secretStaysOut(t *testing.T, kind berth.ProviderKind) {
	const canary = "canary-5f2b7c-of-the-agent"
	agent := startProcess(t, kind)
	p := agent.connect(t)
	ref := ready(t, p)
	spec := berth.CommandSpec{
		ID: "c", Script: `echo "$TOKEN"; printf %s "$TOKEN" | base64`, Env: map[string]string{"TOKEN": canary},
		Mask: []berth.SecretValue{berth.NewSecretValue([]byte(canary))},
	}
	if err := p.StartCommand(t.Context(), ref, spec); err != nil {
		t.Fatal(err)
	}
	read := <-inBackground(t, p, ref, "c")
	if read.err != nil || !strings.Contains(read.text, "***") {
		t.Errorf("%+v", read)
	}
	spec.Script = "true" // a conflict, with the secret in its request
	if err := p.StartCommand(t.Context(), ref, spec); berth.CodeOf(err) != berth.CodeConflict || strings.Contains(err.Error(), canary) {
		t.Errorf("StartCommand: %v", err)
	}
	spec.ID, spec.Env["BIG"] = "d", strings.Repeat(canary, 10_000)
	if err := p.StartCommand(t.Context(), ref, spec); berth.CodeOf(err) != berth.CodeTooLarge || strings.Contains(err.Error(), canary) {
		t.Errorf("StartCommand: %v", err)
	}
	texts := map[string]string{"the output": read.text, "standard error": ""}
	err := filepath.WalkDir(string(agent.dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		texts[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if status := agent.end(t); status != 0 {
		t.Errorf("it ended with %d", status)
	}
	texts["standard error"] = agent.stderr.String()
	agent.start(t)
	token, err := tokenfile.Read(agent.dir.token())
	if err != nil {
		t.Fatal(err)
	}
	if log := texts[agent.dir.log()]; strings.Count(log, "PUT /v1/{provider}/sandboxes/{sandbox}/commands/{command}") != 3 || strings.Contains(log, token) {
		t.Errorf("the log is %s", log)
	}
	for where, text := range texts {
		for _, form := range []string{canary, "Y2FuYXJ5LTVmMmI3"} {
			if strings.Contains(text, form) {
				t.Errorf("%s holds %s", where, form)
			}
		}
	}
}

// The end of its terminal killed an agent in the middle of what it did.
func TestAnAgentEndsInOrderByEverySignalThatEndsPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("starts agents")
	}
	for _, end := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(end) { // by the tests, as behind nohup: then by the agent too
			continue
		}
		p := startProcess(t, berth.ProviderLocal)
		if status := p.endBy(t, end); status != 0 {
			t.Errorf("%s: status %d, want 0; it said %s", end, status, &p.stderr)
		}
	}
}

func TestTheLogTurnsOver(t *testing.T) {
	t.Parallel()
	agent := startProcess(t, berth.ProviderLocal)
	agent.kill()
	if err := os.WriteFile(agent.dir.log(), bytes.Repeat([]byte("x"), 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	agent.start(t)
	if _, err := agent.connect(t).List(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		now, err := os.Stat(agent.dir.log())
		old, oldErr := os.Stat(agent.dir.log() + ".1")
		if err == nil && oldErr == nil && now.Size() < 1<<20 && old.Size() == 10<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(fmt.Sprint(now, old, err, oldErr))
		}
	}
}
