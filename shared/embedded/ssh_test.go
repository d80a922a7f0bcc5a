//go:build linux

package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
	"github.com/berth-dev/berth/shared/sandbox/sandboxtest"
	"github.com/berth-dev/berth/shared/shell/sshdtest"
)

func TestRunsOnAnSSHHostShareACleanCloneOneAfterTheOther(t *testing.T) {
	t.Parallel()
	host := sshdtest.Start(t)
	s := localSite(t)
	repository := gitservertest.Start(t, gitservertest.Options{})
	work := filepath.Join(t.TempDir(), "work")
	s.source, s.environment = "", "box"
	s.settings = map[string]any{"provider": "ssh", "ssh": map[string]any{
		"destination": sshdtest.Alias, "config_file": host.ClientConfig, "working_directory": work,
	}}
	s.create(s.environment, nil)
	for range 2 { // the second finds a clean clone of the same origin
		request := s.request(s.environment, "git rev-parse HEAD; pwd")
		request.Target = &berth.Target{Kind: berth.TargetGit, Origin: repository.URL, Tag: gitservertest.LightTag}
		run := s.succeed(s.submit(request).ID)
		if got := s.log(run).stdout.String(); got != repository.Light+"\n"+work+"\n" {
			t.Errorf("the run printed %q", got)
		}
	}
	if err := os.WriteFile(filepath.Join(work, "mine"), []byte("work of a person"), 0o644); err != nil {
		t.Fatal(err)
	}
	request := s.request(s.environment, "true")
	request.Target = &berth.Target{Kind: berth.TargetGit, Origin: repository.URL, Tag: gitservertest.LightTag}
	run := s.awaitRun(s.submit(request).ID)
	if run.Status != berth.RunFailed || run.Reason == nil || run.Reason.Code != berth.ReasonCloneFailed {
		t.Errorf("a run over a person's work ended as %s, %+v", run.Status, run.Reason)
	}
	if text, err := os.ReadFile(filepath.Join(work, "mine")); err != nil || !strings.Contains(string(text), "person") {
		t.Errorf("the person's work: %q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(host.Home, ".berth", "*", "*")); len(left) > 0 {
		t.Errorf("there is left on the host: %v", left)
	}
}

func TestARunWhoseHostDoesNotResolveFailsWithTheRemedy(t *testing.T) {
	t.Parallel()
	sshdtest.Start(t) // skips where there is no OpenSSH
	s := localSite(t)
	s.source, s.environment = "", "nowhere"
	s.settings = map[string]any{"provider": "ssh", "ssh": map[string]any{"destination": "u@" + sshdtest.NoHost, "working_directory": "/srv/work"}}
	s.create(s.environment, nil)
	run := s.awaitRun(s.submit(s.request(s.environment, "true")).ID)
	if run.Status != berth.RunFailed || run.Reason == nil || !strings.Contains(run.Reason.Message, "does not resolve") || run.Reason.Remediation == "" {
		t.Errorf("the run ended as %s, %+v", run.Status, run.Reason)
	}
}

func TestAServerThatIsKilledLeavesNoConnectionToAHost(t *testing.T) {
	t.Parallel()
	host := sshdtest.Start(t)
	s := localSite(t)
	s.source, s.environment = "", "box"
	s.settings = map[string]any{"provider": "ssh", "ssh": map[string]any{
		"destination": sshdtest.Alias, "config_file": host.ClientConfig, "working_directory": filepath.Join(t.TempDir(), "work"),
	}}
	s.create(s.environment, nil)
	s.succeed(s.submit(s.request(s.environment, "true")).ID)
	if len(sandboxtest.Processes(host.ClientConfig)) == 0 {
		t.Fatal("no connection is kept: there is nothing to look for")
	}
	s.kill()
	host.WaitIdle(t)
	if left := sandboxtest.Left(host.ClientConfig); len(left) > 0 {
		t.Errorf("there is left: %v", left)
	}
}
