package gitsource_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/runner"
)

var (
	_ runner.Cloner         = gitsource.Source{}
	_ runner.CloneExplainer = gitsource.Source{}
)

func TestCloneCommandRefusesWhatIsNoGitTarget(t *testing.T) {
	t.Parallel()
	const origin = "https://example.com/r"
	for name, c := range map[string]struct {
		target berth.Target
		depth  int
		field  string
	}{
		"none":             {berth.Target{Kind: berth.TargetNone}, 1, "target.kind"},
		"a folder":         {berth.Target{Kind: berth.TargetFolder, Path: "/x"}, 1, "target.kind"},
		"no kind":          {berth.Target{}, 1, "target.kind"},
		"no origin":        {berth.Target{Kind: berth.TargetGit}, 1, "target.origin"},
		"a file":           {berth.Target{Kind: berth.TargetGit, Origin: "file:///srv/r"}, 1, "target.origin"},
		"a program":        {berth.Target{Kind: berth.TargetGit, Origin: "ext::sh -c id"}, 1, "target.origin"},
		"a password":       {berth.Target{Kind: berth.TargetGit, Origin: "https://me:pass@example.com/r"}, 1, "target.origin"},
		"an option":        {berth.Target{Kind: berth.TargetGit, Origin: origin, Branch: "--upload-pack=x"}, 1, "target.branch"},
		"a full ref":       {berth.Target{Kind: berth.TargetGit, Origin: origin, Tag: "refs/tags/v1"}, 1, "target.tag"},
		"a short SHA":      {berth.Target{Kind: berth.TargetGit, Origin: origin, SHA: "abc"}, 1, "target.sha"},
		"a negative depth": {berth.Target{Kind: berth.TargetGit, Origin: origin}, -1, "clone.depth"},
	} {
		_, err := gitsource.Source{}.CloneCommand(t.Context(), berth.Definition{Target: c.target, Clone: berth.Clone{Depth: c.depth}})
		if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %v, want invalid at %s", name, err, c.field)
		}
	}
}

func TestCloneCommandHandsOverNothingButTheTarget(t *testing.T) {
	t.Parallel()
	spec, err := gitsource.Source{}.CloneCommand(t.Context(), berth.Definition{
		Target: berth.Target{Kind: berth.TargetGit, Origin: "git@GitHub.com:o/r.git", Branch: "main", Tag: "v1", SHA: strings.ToUpper(missing)},
		Clone:  berth.Clone{Enabled: true, Depth: 7}, Environment: berth.Environment{Provider: berth.ProviderDocker},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"https://github.com/o/r.git", "main", "v1", missing, "7", "no", "2,5,10", "docker"}
	if diff := cmp.Diff(want, spec.Argv[5:]); diff != "" {
		t.Errorf("the arguments (-want +got)\n%s", diff)
	}
	if spec.ID != "" || spec.Script != "" || spec.Dir != "" || spec.Env != nil || spec.Mask != nil || spec.Stdin {
		t.Errorf("the command is %+v, want its arguments alone", spec)
	}
	if size := len(spec.Argv[3]); size > 64*1024 {
		t.Errorf("the script has %d bytes, which the record of a command cannot hold", size)
	}
}

func TestExplainCloneNamesWhatFailed(t *testing.T) {
	t.Parallel()
	git := berth.Target{Kind: berth.TargetGit, Origin: "git@example.com:o/r", Branch: "main"}
	tag, sha := git, git
	tag.Tag, sha.Tag, sha.SHA = "v9", "v9", missing
	for name, c := range map[string]struct {
		target berth.Target
		status gitsource.Status
		want   string
	}{
		"git missing": {git, gitsource.StatusGitMissing, "the image has no git that can fetch https://example.com/o/r"},
		"repository":  {git, gitsource.StatusRepository, "https://example.com/o/r was not found, or needs credentials"},
		"branch":      {git, gitsource.StatusRevision, "branch main is not in https://example.com/o/r"},
		"tag":         {tag, gitsource.StatusRevision, "tag v9 is not in https://example.com/o/r"},
		"SHA":         {sha, gitsource.StatusRevision, "commit " + missing + " is not in https://example.com/o/r"},
		"network":     {git, gitsource.StatusNetwork, "https://example.com/o/r could not be reached"},
		"workspace":   {git, gitsource.StatusNotOurs, "the workspace is not empty, or cannot be written"},
		"other":       {git, gitsource.StatusFailed, "branch main of https://example.com/o/r could not be fetched"},
		"new":         {git, 99, "branch main of https://example.com/o/r could not be fetched"},
	} {
		reason, ok := gitsource.Source{}.ExplainClone(berth.Definition{Target: c.target}, berth.Exit{Code: int(c.status), Reason: berth.ExitExited})
		if !ok || reason.Code != berth.ReasonCloneFailed || reason.Message != c.want || reason.Remediation == "" {
			t.Errorf("%s: %+v, %v; want %q with remediation", name, reason, ok, c.want)
		}
	}
	onSSH := berth.Definition{Target: git, Environment: berth.Environment{Provider: berth.ProviderSSH, SSH: &berth.SSHOptions{WorkingDirectory: "/srv/work"}}}
	reason, _ := gitsource.Source{}.ExplainClone(onSSH, berth.Exit{Code: int(gitsource.StatusNotOurs), Reason: berth.ExitExited})
	if !strings.Contains(reason.Message, "ssh.working_directory /srv/work") || strings.Contains(reason.Remediation, "image") {
		t.Errorf("a folder of a host: %+v; there is no image to change", reason)
	}
	for _, exit := range []berth.Exit{
		{Code: 0, Reason: berth.ExitExited},
		{Code: 127, Reason: berth.ExitExited},
		{Code: 13, Reason: berth.ExitTimedOut},
		{Code: 137, Reason: berth.ExitOutOfMemory},
		{Code: -1, Reason: berth.ExitLost},
	} {
		if reason, ok := (gitsource.Source{}).ExplainClone(berth.Definition{Target: git}, exit); ok {
			t.Errorf("%+v is explained by %+v, want nothing", exit, reason)
		}
	}
}

func TestCloneCommandPassesOnWhyThereIsNoCredential(t *testing.T) {
	t.Parallel()
	def := berth.Definition{Target: berth.Target{Kind: berth.TargetGit, Origin: "https://example.com/r"}}
	for name, c := range map[string]struct {
		source credentials
		origin string
		want   berth.Code
	}{
		"the store is away":    {credentials{err: berth.Errorf(berth.CodeUnavailable, "away")}, "https://example.com/r", berth.CodeUnavailable},
		"an error of its own":  {credentials{err: errors.New("odd")}, "https://example.com/r", berth.CodeInternal},
		"not over https":       {credentials{user: "u", password: "password"}, "http://example.com/r", berth.CodeInvalid},
		"git has no passwords": {credentials{user: "u", password: "password"}, "git://example.com/r", berth.CodeInvalid},
		"a line end":           {credentials{user: "u", password: "pass\nhost=evil"}, "https://example.com/r", berth.CodeInvalid},
		"an empty password":    {credentials{user: "u"}, "https://example.com/r", berth.CodeInvalid},
		"an empty user":        {credentials{password: "password"}, "https://example.com/r", berth.CodeInvalid},
	} {
		def.Target.Origin = c.origin
		_, err := gitsource.Source{Credentials: c.source}.CloneCommand(t.Context(), def)
		if berth.CodeOf(err) != c.want || strings.Contains(err.Error(), "pass\n") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	spec, err := gitsource.Source{Credentials: credentials{}}.CloneCommand(t.Context(), def)
	if err != nil || spec.Env != nil || spec.Argv[10] != "no" {
		t.Errorf("an origin that needs no credential: %v, %v", spec.Env, err)
	}
}
