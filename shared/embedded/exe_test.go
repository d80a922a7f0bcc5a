//go:build linux

package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
	"github.com/berth-dev/berth/shared/sandbox/exe/exetest"
)

// vmSite is a server with an account at an exe.dev of the test's own, whose VMs are
// OpenSSH servers.
func vmSite(t *testing.T) (*site, *exetest.Server) {
	t.Helper()
	service := exetest.New(t) // ends after the server
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, service.Key, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, host, _, _, err := ssh.ParseKnownHosts(service.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	s := localSite(t)
	s.stop()
	s.more = []string{vmEnv + "=127.0.0.1:" + service.Port + " " + ssh.FingerprintSHA256(host) + " " + key}
	s.start()
	s.source, s.environment, s.settings = "", "vm", map[string]any{"provider": "exe"}
	s.create(s.environment, nil)
	return s, service
}

func noVMs(t *testing.T, service *exetest.Server) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(service.VMs()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("VMs are left: %v", service.VMs())
		}
	}
}

func TestARunInAVMOfExeHasItsCodeAndLeavesNoVM(t *testing.T) {
	t.Parallel()
	s, service := vmSite(t)
	repository := gitservertest.Start(t, gitservertest.Options{})
	// What git sees of the workspace is the repository, and nothing of the VM's home.
	request := s.request(s.environment, `git rev-parse HEAD; git clean -nxd; echo "${PWD#"$HOME"}"`)
	request.Target = &berth.Target{Kind: berth.TargetGit, Origin: repository.URL, Tag: gitservertest.LightTag}
	run := s.succeed(s.submit(request).ID)
	if got := s.log(run).stdout.String(); got != repository.Light+"\n/workspace\n" {
		t.Errorf("the run printed %q", got)
	}
	noVMs(t, service)
}

func TestARunInAVMOfExeOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s, service := vmSite(t)
	outlive(t, s)
	noVMs(t, service)
}

func TestARunThatExeRefusesSaysWhyAndLeavesNoVM(t *testing.T) {
	t.Parallel()
	s, service := vmSite(t)
	service.Break(exetest.Faults{Refusal: "VM limit reached for your plan"})
	run := s.awaitRun(s.begin("true").ID)
	if run.Status != berth.RunFailed || run.Reason == nil || !strings.Contains(run.Reason.Message, "limit reached") || run.Reason.Remediation == "" {
		t.Errorf("the run is %s, %+v", run.Status, run.Reason)
	}
	noVMs(t, service)
}
