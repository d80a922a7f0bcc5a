//go:build linux

package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonatest"
)

// cloudSite is a server with an account at a Daytona of the test's own.
func cloudSite(t *testing.T) (*site, *daytonatest.Server) {
	t.Helper()
	service := daytonatest.New(t, daytonatest.Config{StartTime: 100 * time.Millisecond, BuildTime: 500 * time.Millisecond, KillTrees: true})
	s := localSite(t)
	s.stop()
	s.more = []string{cloudEnv + "=" + service.URL() + " " + daytonatest.Key}
	s.start()
	s.source, s.environment, s.settings = "", "cloud", map[string]any{"provider": "daytona"}
	s.create(s.environment, nil)
	return s, service
}

func noCloudSandboxes(t *testing.T, service *daytonatest.Server) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(service.Sandboxes()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("sandboxes are left: %+v", service.Sandboxes())
		}
	}
}

func TestARunInDaytonaHasItsCodeAndLeavesNoSandbox(t *testing.T) {
	t.Parallel()
	s, service := cloudSite(t)
	repository := gitservertest.Start(t, gitservertest.Options{})
	for range 2 { // the second needs no build
		request := s.request("built", "git rev-parse HEAD; pwd")
		if len(service.Snapshots()) == 0 {
			s.create("built", map[string]any{"image": map[string]any{"dockerfile": map[string]any{"type": "inline", "value": "FROM debian:13\n"}}})
		}
		request.Target = &berth.Target{Kind: berth.TargetGit, Origin: repository.URL, Tag: gitservertest.LightTag}
		run := s.succeed(s.submit(request).ID)
		if got := s.log(run).stdout.String(); !strings.HasPrefix(got, repository.Light+"\n") || !strings.HasSuffix(got, "/home/daytona/workspace\n") {
			t.Errorf("the run printed %q", got)
		}
		noCloudSandboxes(t, service)
	}
	if n := service.Count("POST", "/snapshots"); n != 1 {
		t.Errorf("%d build requests, want 1", n)
	}
}

func TestARunInDaytonaOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s, service := cloudSite(t)
	outlive(t, s)
	noCloudSandboxes(t, service)
}

// outlive has a run whose server is killed three times, and looks for every line of
// it and its status.
func outlive(t *testing.T, s *site) {
	t.Helper()
	run := s.begin("for i in {1..60}; do echo $i; sleep 0.05; done; exit 7")
	for range 3 {
		time.Sleep(700 * time.Millisecond) // anywhere in the run, its beginning too
		s.kill()
		s.start()
	}
	run = s.awaitRun(run.ID)
	got := s.log(run).stdout.String()
	if run.Status != berth.RunFailed || run.Exit == nil || run.Exit.Code != 7 || strings.Count(got, "\n") != 60 || !strings.HasSuffix(got, "\n60\n") {
		t.Errorf("the run is %s, %+v: %q", run.Status, run.Exit, got)
	}
}
