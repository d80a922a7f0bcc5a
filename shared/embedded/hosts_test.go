//go:build linux

package embedded_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/channel"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/hostagent/preview"
	"github.com/berth-dev/berth/shared/hostagent/preview/previewtest"
	"github.com/berth-dev/berth/shared/runner/runnertest"
)

const hostBearer = "the-bearer-of-the-host-in-this-test"

// memoryHost is a host whose docker is in memory, behind a real agent's API.
type memoryHost struct {
	*runnertest.Provider
	served
	fingerprint string
	previews    *preview.Store // nil without a public URL
}

// inMemory is a provider of the kind that hosts bring.
type inMemory struct{ *runnertest.Provider }

func (inMemory) Kind() berth.ProviderKind { return berth.ProviderDocker }

// OpenStream answers as a program there would that says what it hears, and where.
func (inMemory) OpenStream(_ context.Context, ref berth.SandboxRef, spec berth.StreamSpec) (io.ReadWriteCloser, error) {
	near, far := net.Pipe()
	go func() {
		conn := channel.NewConn(far)
		defer conn.Close()
		fmt.Fprintf(conn, "%s %s %d %s\n", ref.ID, spec.Kind, spec.Port, spec.Env["PLACE"])
		_, _ = io.Copy(conn, conn)
		_ = conn.CloseWrite()
	}()
	return near, nil
}

func startMemoryHost(t *testing.T) *memoryHost {
	t.Helper()
	authority := previewtest.NewAuthority(t)
	authority.Issue("berth-agent", time.Now().Add(time.Hour))
	certificate, err := tls.LoadX509KeyPair(authority.Files())
	if err != nil {
		t.Fatal(err)
	}
	h := &memoryHost{Provider: runnertest.NewProvider(), served: served{certificate: certificate}}
	h.fingerprint = agentapi.FingerprintOf(h.certificate.Certificate[0]).String()
	h.start(t)
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *memoryHost) start(t *testing.T) {
	t.Helper()
	config := agentapi.Config{Token: hostBearer, Adopt: func(context.Context, berth.InstallationID) (agentapi.Providers, error) {
		return agentapi.Providers{berth.ProviderDocker: inMemory{h.Provider}}, nil
	}}
	if h.previews != nil {
		config.Previews = h.previews
	}
	handler, err := agentapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	h.serve(t, handler, func() { handler.Close() })
}

func (h *memoryHost) join(token string) berth.HostJoin {
	public := ""
	if h.previews != nil {
		public = h.previews.URL().String()
	}
	return berth.HostJoin{
		PublicURL: public, Token: token, Address: "https://" + h.address, Fingerprint: h.fingerprint, Bearer: hostBearer,
		Providers:    []berth.ProviderKind{berth.ProviderDocker},
		HostCapacity: berth.HostCapacity{CPU: 2, MemoryBytes: 4e9, Architecture: "amd64"}, Version: "1",
	}
}

func TestRunsGoToAHostThatJoined(t *testing.T) {
	t.Parallel()
	host := startMemoryHost(t)
	api, logged := serveWith(t, embedded.Agent{})
	_, err := api.CreateEnvironment(t.Context(), map[string]any{"id": "ci", "provider": "docker", "resources": map[string]any{"cpu": 2, "memory": "1GB"}})
	if err != nil {
		t.Fatal(err)
	}
	// Without a host docker is off, and the reason says so.
	// The first run counts, and takes the host's cores until it is told to end.
	release := make(chan struct{})
	host.Programs["count and wait"] = func(p *runnertest.Process) int {
		status := host.Programs["count"](p)
		select {
		case <-release:
		case <-p.Ended:
		}
		return status
	}
	request := berth.RunRequest{Environment: "ci", Command: []string{"count and wait", "40", "25"}}
	if _, err = api.CreateRun(t.Context(), request); err == nil || !strings.Contains(err.Error(), "the docker provider is off") {
		t.Fatalf("CreateRun without a host: %v", err)
	}
	token, err := api.AddHost(t.Context(), berth.HostRequest{ID: "eu-1"})
	if err != nil {
		t.Fatal(err)
	}
	wrong := host.join(token.Token)
	wrong.Fingerprint = "sha256:" + strings.Repeat("00", 32)
	if _, err := api.JoinHost(t.Context(), wrong); berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("JoinHost with another fingerprint: %v", err)
	}
	joined, err := api.JoinHost(t.Context(), host.join(token.Token))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.JoinHost(t.Context(), host.join(token.Token)); berth.CodeOf(err) != berth.CodeConflict {
		t.Errorf("JoinHost with a used token: %v", err)
	}
	asHost, err := client.New(client.Config{BaseURL: api.Server(), Token: joined.Key})
	if err != nil {
		t.Fatal(err)
	}
	if err := asHost.BeatHost(t.Context(), "eu-1", berth.Heartbeat{HostCapacity: joined.Host.HostCapacity, Version: "2"}); err != nil {
		t.Error(err)
	}
	if err := asHost.BeatHost(t.Context(), "eu-2", berth.Heartbeat{HostCapacity: joined.Host.HostCapacity, Version: "2"}); berth.CodeOf(err) != berth.CodeForbidden {
		t.Errorf("a heartbeat of another host: %v", err)
	}

	var first, second berth.Run
	for deadline := time.Now().Add(startWait); ; time.Sleep(20 * time.Millisecond) { // that there is a host is remembered for a moment
		if first, err = api.CreateRun(t.Context(), request); err == nil {
			break
		}
		if !strings.Contains(err.Error(), "the docker provider is off") || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	p := &process{t: t, Client: api}
	for deadline := time.Now().Add(startWait); len(host.Specs()) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no sandbox has come:\n%s", logged())
		}
	}
	if second, err = api.CreateRun(t.Context(), berth.RunRequest{Environment: "ci", Command: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	var waiting berth.Run
	for deadline := time.Now().Add(startWait); ; time.Sleep(10 * time.Millisecond) {
		if waiting, err = api.FindRun(t.Context(), second.ID); err != nil || waiting.Reason != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the second run says nothing of what it waits for:\n%s", logged())
		}
	}
	if err != nil || waiting.Status != berth.RunQueued || !strings.Contains(waiting.Reason.Message, "eu-1 has 0 cores") {
		t.Errorf("the second run is %s, %+v, %v", waiting.Status, waiting.Reason, err)
	}
	if err := api.CancelRun(t.Context(), second.ID); err != nil {
		t.Error(err)
	}
	// The host is cut off for a while in the middle of the command.
	host.stop()
	time.Sleep(300 * time.Millisecond)
	host.start(t)
	close(release)
	run := p.awaitRun(first.ID)
	if run.Status != berth.RunSucceeded || strings.Count(p.log(run).stdout.String(), "\n") != 40 {
		t.Fatalf("the run is %s: %+v\n%s", run.Status, run.Reason, logged())
	}
	if run := p.awaitRun(second.ID); run.Status != berth.RunCancelled {
		t.Errorf("the second run is %s, %+v", run.Status, run.Reason)
	}
	sandboxes, err := api.ListSandboxes(t.Context(), client.Page{})
	if err != nil || len(sandboxes.Items) != 2 || sandboxes.Items[0].Host != "eu-1" {
		t.Errorf("sandboxes %+v, %v", sandboxes.Items, err)
	}
	if text := logged(); strings.Contains(text, hostBearer) || strings.Contains(text, token.Token) || strings.Contains(text, joined.Key) {
		t.Error("a secret of the host is in the log")
	}
	if err := api.RemoveHost(t.Context(), "eu-1", false); err != nil {
		t.Error(err)
	}
	if err := asHost.BeatHost(t.Context(), "eu-1", berth.Heartbeat{}); berth.CodeOf(err) != berth.CodeUnauthenticated {
		t.Errorf("a heartbeat after the removal: %v", err)
	}
}
