package embedded_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// gitServer serves a repository where containers reach it.
func gitServer(t *testing.T) *gitservertest.Server {
	t.Helper()
	return gitservertest.Start(t, gitservertest.Options{Address: dockertest.Bridge(t) + ":0"})
}

func TestARunHasTheCodeOfItsGitTarget(t *testing.T) {
	t.Parallel()
	s := dockerSite(t)
	repository := gitServer(t)
	const look = `git rev-parse HEAD; git branch --show-current; cat number; git status --porcelain; git config --get remote.origin.url`
	for name, c := range map[string]struct {
		target              berth.Target
		sha, branch, number string
	}{
		"the tip of a branch": {berth.Target{Branch: gitservertest.DefaultBranch}, repository.Tip, "main", "160"},
		"an annotated tag":    {berth.Target{Branch: "main", Tag: gitservertest.AnnotatedTag}, repository.Annotated, "main", "20"},
		"an exact old commit": {berth.Target{Branch: "main", SHA: repository.OldSHA}, repository.OldSHA, "main", "5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			request := s.request(s.environment, look)
			c.target.Kind, c.target.Origin = berth.TargetGit, repository.URL
			request.Target = &c.target
			run := s.succeed(s.submit(request).ID)
			want := strings.Join([]string{c.sha, c.branch, c.number, repository.URL, ""}, "\n")
			if got := s.log(run); got.stdout.String() != want || got.stderr.Len() != 0 {
				t.Errorf("the workspace is\n%s\nwant\n%s\non stderr: %s", &got.stdout, want, &got.stderr)
			}
			if first := run.Stages[0]; first.Kind != berth.StageClone || len(run.Stages) != 2 {
				t.Errorf("the stages are %+v, want a clone and the command", run.Stages)
			}
		})
	}
}

func TestCodeThatCannotBeFetchedStartsNothing(t *testing.T) {
	t.Parallel()
	s := dockerSite(t)
	repository := gitServer(t)
	s.create("bare", map[string]any{"image": map[string]any{"docker": dockertest.Image(t, dockertest.Static)}})
	unknown := strings.Repeat("5ca1ab1e", 5)
	for name, c := range map[string]struct {
		environment berth.EnvironmentID
		target      berth.Target
		says        string // the reason, or its remediation
	}{
		"a tag that is not there":    {s.environment, berth.Target{Branch: "main", Tag: "v9.9"}, "tag v9.9 is not in " + repository.URL},
		"a commit that is not there": {s.environment, berth.Target{Branch: "main", SHA: unknown}, "commit " + unknown + " is not in " + repository.URL},
		"a branch that is not there": {s.environment, berth.Target{Branch: "nowhere"}, "branch nowhere is not in " + repository.URL},
		"an image without git":       {"bare", berth.Target{Branch: "main"}, "Install git"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			request := s.request(c.environment, "echo started")
			c.target.Kind, c.target.Origin = berth.TargetGit, repository.URL
			request.Target = &c.target
			run := s.awaitRun(s.submit(request).ID)
			if run.Status != berth.RunFailed || run.Reason == nil || run.Reason.Code != berth.ReasonCloneFailed ||
				!strings.Contains(run.Reason.Message+" "+run.Reason.Remediation, c.says) {
				t.Errorf("the run is %s because of %+v, want %q", run.Status, run.Reason, c.says)
			}
			for _, stage := range run.Stages {
				if stage.Kind != berth.StageClone && stage.StartedAt != nil {
					t.Errorf("stage %s was started", stage.ID)
				}
			}
		})
	}
}

func TestABlockedNetworkIsNoWayToFetchCodeBy(t *testing.T) {
	t.Parallel()
	s := dockerSite(t)
	s.create("blocked", map[string]any{"network": map[string]any{"mode": "block"}})
	request := s.request("blocked", "true")
	request.Target = &berth.Target{Kind: berth.TargetGit, Origin: "https://git.example/o/r", Branch: "main"}
	report, err := s.Preflight(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range report.Checks {
		if bad := check.Status == berth.CheckError; bad != (check.Name == "target") || bad && !strings.Contains(check.Summary, "network.mode = block") {
			t.Errorf("check %+v; want target alone to fail, for the network", check)
		}
	}
	if _, err := s.CreateRun(t.Context(), request); berth.CodeOf(err) != berth.CodeUnsupported || report.OK {
		t.Errorf("OK is %t and CreateRun says %v, want unsupported", report.OK, err)
	}
}
