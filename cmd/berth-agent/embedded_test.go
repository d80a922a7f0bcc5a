//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/listen/listentest"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/tokenfile"
)

// server is a real one in this process, without an engine of its own.
type server struct {
	*client.Client
	url string
	id  berth.InstallationID
}

func startServer(t *testing.T) *server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a server")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- embedded.Run(ctx, embedded.Options{
			DataDir: filepath.Join(dir, "data"), ConfigDir: filepath.Join(dir, "config"), Docker: embedded.Docker{Off: true},
			GuestPath: sandboxtest.BuildGuest(t), Log: io.Discard, Ready: func(url string) { ready <- url },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	s := &server{}
	select {
	case s.url = <-ready:
	case err := <-ended:
		t.Fatalf("the server did not start: %v", err)
	case <-time.After(patience):
		t.Fatal("the server did not start")
	}
	token, err := tokenfile.Read(filepath.Join(dir, "data", "token"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Client, err = client.New(client.Config{BaseURL: s.url, Token: token}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	version, err := s.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.id = version.Installation
	return s
}

// host adds a host and joins as it with the engine at address, the usual one when
// that is empty.
func (s *server) host(t *testing.T, id berth.HostID, engine string) (*process, string) {
	t.Helper()
	added, err := s.AddHost(t.Context(), berth.HostRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{kind: berth.ProviderDocker, dir: folder(filepath.Join(t.TempDir(), "agent")), guest: sandboxtest.BuildGuest(t)}
	args := []string{
		"join", s.url, "--token", added.Token, "--data-dir", string(p.dir), "--listen", listentest.Address(t), "--guest", p.guest,
	}
	if engine != "" {
		args, p.more = append(args, "--docker-host", engine), []string{"--docker-host", engine}
	}
	if status, stdout, stderr := command(t, args...); status != 0 || !strings.HasPrefix(stdout, string(id)+"\n") {
		t.Fatalf("join: %d %q %s", status, stdout, stderr)
	}
	return p, added.Token
}

func (s *server) awaitHost(t *testing.T, id berth.HostID, is func(berth.Host) bool) {
	t.Helper()
	until(t, "the host's state", func() bool {
		h, err := s.FindHost(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return is(h)
	})
}

func TestAnAgentJoinsARealServerOnce(t *testing.T) {
	t.Parallel()
	s, engine := startServer(t), fakeEngine(t)
	p, used := s.host(t, "one", engine)
	s.awaitHost(t, "one", func(h berth.Host) bool { return h.Status == berth.HostReady && h.CPU > 0 && h.Fingerprint != "" })
	again := folder(filepath.Join(t.TempDir(), "again"))
	args := []string{"join", s.url, "--data-dir", string(again), "--listen", "127.0.0.1:0", "--docker-host", engine, "--guest", p.guest, "--token"}
	for token, want := range map[string]string{used: "good once", "bthj_none": "is not known"} {
		if status, _, stderr := command(t, append(args, token)...); status == 0 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "to do:") {
			t.Errorf("a token that %s: %d %s", want, status, stderr)
		}
	}
	added, err := s.AddHost(t.Context(), berth.HostRequest{ID: "two"})
	if err != nil {
		t.Fatal(err)
	}
	unreachable := append(args, added.Token, "--address", "https://127.0.0.1:1")
	if status, _, stderr := command(t, unreachable...); status != 2 || !strings.Contains(stderr, "cannot be called back") || !strings.Contains(stderr, "security groups") {
		t.Errorf("an address where nobody answers: %d %s", status, stderr)
	}
	absent(t, again.host())
	if status, _, stderr := command(t, append(args, added.Token)...); status != 0 {
		t.Errorf("the same token with an address that is right: %d %s", status, stderr)
	}

	p.start(t)
	t.Cleanup(p.kill)
	s.awaitHost(t, "one", func(h berth.Host) bool { return h.SeenAt != nil })
	if err := s.RemoveHost(t.Context(), "one", true); err != nil {
		t.Fatal(err)
	}
	p.kill()
	p.start(t) // whose first heartbeat comes at once
	until(t, "the log says that the key does not count", func() bool {
		log, err := os.ReadFile(p.dir.log())
		return err == nil && strings.Contains(string(log), "does not take this host's key any more")
	})
	if status, _, stderr := command(t, "leave", "--data-dir", string(p.dir)); status != 5 || !strings.Contains(stderr, "systemctl stop") {
		t.Errorf("leaving while it runs: %d %s", status, stderr)
	}
}

func TestARunWorksOnAHostThatHasJoined(t *testing.T) {
	t.Parallel()
	image := dockertest.Image(t, dockertest.Debian)
	s := startServer(t)
	api := dockertest.Engine(t)
	t.Cleanup(func() { dockertest.NoneLeft(t, api, s.id) })
	p, _ := s.host(t, "worker", "")
	p.start(t)
	t.Cleanup(p.finish)
	s.awaitHost(t, "worker", func(h berth.Host) bool { return h.SeenAt != nil })
	_, err := s.CreateEnvironment(t.Context(), map[string]any{
		"id": "box", "provider": "docker", "image": map[string]any{"docker": image}, "network": map[string]any{"mode": "block"},
		"lifecycle": map[string]any{"preserve": true, "stop_on_terminal": false},
	})
	if err != nil {
		t.Fatal(err)
	}
	var run berth.Run
	until(t, "the server knows that there is a host", func() bool { // it looks now and then
		run, err = s.CreateRun(t.Context(), berth.RunRequest{Environment: "box", Script: "echo on $(hostname); sleep 1; echo done"})
		return err == nil
	})
	until(t, "the run ends", func() bool {
		if run, err = s.FindRun(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		return run.Status.Ended()
	})
	if run.Status != berth.RunSucceeded {
		t.Fatalf("the run is %s: %+v", run.Status, run.Reason)
	}
	sandboxes, err := s.ListSandboxes(t.Context(), client.Page{})
	if err != nil || len(sandboxes.Items) != 1 || sandboxes.Items[0].Host != "worker" {
		t.Fatalf("the sandboxes: %+v, %v", sandboxes.Items, err)
	}
	sandbox := sandboxes.Items[0]

	// A nudge that the server takes: of a command that has ended.
	member, _, err := p.dir.member()
	if err != nil {
		t.Fatal(err)
	}
	own, err := dial(member.Server, string(member.Key.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	if err := own.NudgeHost(t.Context(), "worker", berth.Nudge{Sandbox: sandbox.ID, Command: "c"}); err != nil {
		t.Errorf("NudgeHost: %v", err)
	}
	if err := own.BeatHost(t.Context(), "another", berth.Heartbeat{}); berth.CodeOf(err) != berth.CodeForbidden {
		t.Errorf("a heartbeat for another host: %v", err)
	}

	content := bytes.Repeat([]byte("\x00large\xff"), 1<<20)
	file := client.File{Sandbox: sandbox.ID, Path: "large"}
	if err := s.Upload(t.Context(), file, bytes.NewReader(content), 0o644); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := s.Download(t.Context(), file, &got); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("%d bytes came back, %v", got.Len(), err)
	}
	if err := s.DestroySandbox(t.Context(), sandbox.ID); err != nil {
		t.Error(err)
	}
}
