package berth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	origin = "https://github.com/o/r"
	sha    = "0123456789abcdef0123456789abcdef01234567"
)

// targetFaults are those of the form, or else what the provider does not take.
func targetFaults(t berth.Target, provider berth.ProviderKind) []berth.Problem {
	if faults := berth.ValidateTarget(t); len(faults) > 0 {
		return faults
	}
	return berth.CheckTarget(t, provider)
}

func TestValidateTargetTakesWhatTheProviderTakes(t *testing.T) {
	t.Parallel()
	git := berth.Target{Kind: berth.TargetGit, Origin: origin, Branch: "main", Tag: "v1.2", SHA: sha}
	for name, c := range map[string]struct {
		target    berth.Target
		providers []berth.ProviderKind
	}{
		"none sent":             {berth.Target{}, berth.ProviderKinds},
		"git with everything":   {git, berth.ProviderKinds[1:]},
		"git with origin alone": {berth.Target{Kind: berth.TargetGit, Origin: origin}, berth.ProviderKinds[1:]},
		"none":                  {berth.Target{Kind: berth.TargetNone}, berth.ProviderKinds[1:]},
		"folder":                {berth.Target{Kind: berth.TargetFolder, Path: "/srv/../x"}, berth.ProviderKinds[:1]},
		"a branch with slashes": {berth.Target{Kind: berth.TargetGit, Origin: origin, Branch: "feature/äö-1.2_x"}, berth.ProviderKinds[1:]},
	} {
		for _, provider := range c.providers {
			if got := targetFaults(c.target, provider); len(got) > 0 {
				t.Errorf("%s on %s: %v, want nothing", name, provider, got)
			}
		}
	}
}

func TestValidateTargetNamesTheFieldAndTheFault(t *testing.T) {
	t.Parallel()
	const (
		branch = "is no name that git allows for a branch"
		tag    = "is no name that git allows for a tag"
		hex    = "must be a full commit SHA of 40 hex digits; nothing shorter, and no name"
	)
	git := func(change func(*berth.Target)) berth.Target {
		target := berth.Target{Kind: berth.TargetGit, Origin: origin, Branch: "main"}
		change(&target)
		return target
	}
	for name, c := range map[string]struct {
		target   berth.Target
		provider berth.ProviderKind
		at, want string
	}{
		"git on local":             {git(func(*berth.Target) {}), "local", "target.kind", "the local provider clones nothing: use a folder target, or an environment of another provider"},
		"none on local":            {berth.Target{Kind: berth.TargetNone}, "local", "target.kind", "the local provider has no empty workspace: use a folder target, or an environment of another provider"},
		"folder on docker":         {berth.Target{Kind: berth.TargetFolder, Path: "/x"}, "docker", "target.kind", "the docker provider sees no folder of the server: use a git target or none, or an environment of provider local"},
		"folder on daytona":        {berth.Target{Kind: berth.TargetFolder, Path: "/x"}, "daytona", "target.kind", "the daytona provider sees no folder of the server: use a git target or none, or an environment of provider local"},
		"folder on ssh":            {berth.Target{Kind: berth.TargetFolder, Path: "/x"}, "ssh", "target.kind", "the ssh provider sees no folder of the server: use a git target or none, or an environment of provider local"},
		"a kind forgotten":         {berth.Target{Origin: origin}, "docker", "target.kind", "is missing: must be one of git, none, folder"},
		"an unknown kind":          {berth.Target{Kind: "svn"}, "docker", "target.kind", "must be one of git, none, folder"},
		"git without an origin":    {git(func(t *berth.Target) { t.Origin = "" }), "docker", "target.origin", "is missing: a git target needs the URL of a repository"},
		"a folder without a path":  {berth.Target{Kind: berth.TargetFolder}, "local", "target.path", "is missing: a folder target needs an absolute path on the server"},
		"a relative folder":        {berth.Target{Kind: berth.TargetFolder, Path: "x/y"}, "local", "target.path", "must be an absolute path on the server"},
		"a folder with a NUL":      {berth.Target{Kind: berth.TargetFolder, Path: "/x\x00"}, "local", "target.path", "is not a path: a NUL, another control character, text that is not UTF-8, or more than 4096 bytes"},
		"a folder in Latin-1":      {berth.Target{Kind: berth.TargetFolder, Path: "/\xe9"}, "local", "target.path", "is not a path: a NUL, another control character, text that is not UTF-8, or more than 4096 bytes"},
		"git with a path":          {git(func(t *berth.Target) { t.Path = "/x" }), "docker", "target.path", "is for a folder target alone"},
		"none with a branch":       {berth.Target{Kind: berth.TargetNone, Branch: "main"}, "docker", "target.branch", "is for a git target alone"},
		"a short SHA":              {git(func(t *berth.Target) { t.SHA = sha[:39] }), "docker", "target.sha", hex},
		"a long SHA":               {git(func(t *berth.Target) { t.SHA = sha + "0" }), "docker", "target.sha", hex},
		"a SHA that is a name":     {git(func(t *berth.Target) { t.SHA = "HEAD" }), "docker", "target.sha", hex},
		"a tag with refs":          {git(func(t *berth.Target) { t.Tag = "refs/tags/v1" }), "docker", "target.tag", "must be the bare name of a tag, without refs/"},
		"a branch with refs":       {git(func(t *berth.Target) { t.Branch = "refs/heads/x" }), "docker", "target.branch", "must be the bare name of a branch, without refs/"},
		"a branch as an option":    {git(func(t *berth.Target) { t.Branch = "--upload-pack=x" }), "docker", "target.branch", branch},
		"a tag as an option":       {git(func(t *berth.Target) { t.Tag = "-x" }), "docker", "target.tag", tag},
		"a branch with a space":    {git(func(t *berth.Target) { t.Branch = "a b" }), "docker", "target.branch", branch},
		"a branch with dots":       {git(func(t *berth.Target) { t.Branch = "a..b" }), "docker", "target.branch", branch},
		"a branch with a colon":    {git(func(t *berth.Target) { t.Branch = "a:b" }), "docker", "target.branch", branch},
		"a branch ending in lock":  {git(func(t *berth.Target) { t.Branch = "a.lock" }), "docker", "target.branch", branch},
		"a branch of a dot":        {git(func(t *berth.Target) { t.Branch = "a/.b" }), "docker", "target.branch", branch},
		"a branch with // ":        {git(func(t *berth.Target) { t.Branch = "a//b" }), "docker", "target.branch", branch},
		"a branch ending in a dot": {git(func(t *berth.Target) { t.Branch = "a." }), "docker", "target.branch", branch},
		"the branch @":             {git(func(t *berth.Target) { t.Branch = "@" }), "docker", "target.branch", branch},
		"a branch with @{":         {git(func(t *berth.Target) { t.Branch = "a@{1}" }), "docker", "target.branch", branch},
		"a long branch":            {git(func(t *berth.Target) { t.Branch = strings.Repeat("a", 256) }), "docker", "target.branch", branch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := []berth.Problem{{Location: c.at, Message: c.want}}
			if diff := cmp.Diff(want, targetFaults(c.target, c.provider)); diff != "" {
				t.Errorf("ValidateTarget (-want +got)\n%s", diff)
			}
		})
	}
}

func TestCanonicalOriginTurnsSSHFormsIntoHTTPS(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://github.com/o/r":         "https://github.com/o/r",
		"https://GitHub.com/o/r.git/":    "https://github.com/o/r.git",
		"git@github.com:o/r.git":         "https://github.com/o/r.git",
		"git@github.com:/o/r.git":        "https://github.com/o/r.git",
		"github.com:o/r":                 "https://github.com/o/r",
		"ssh://git@github.com/o/r.git":   "https://github.com/o/r.git",
		"ssh://git@github.com:2222/o/r":  "https://github.com/o/r",
		"ssh://[fd00::1]:22/o/r":         "https://[fd00::1]/o/r",
		"https://git.example.com:8443/r": "https://git.example.com:8443/r",
		"http://127.0.0.1:8080/r.git":    "http://127.0.0.1:8080/r.git",
		"git://127.0.0.1:9418/r.git":     "git://127.0.0.1:9418/r.git",
	} {
		got, err := berth.CanonicalOrigin(text)
		if err != nil || got != want {
			t.Errorf("CanonicalOrigin(%q) = %q, %v; want %q", text, got, err, want)
		}
		if again, err := berth.CanonicalOrigin(got); err != nil || again != got {
			t.Errorf("CanonicalOrigin(%q) = %q, %v; want itself", got, again, err)
		}
	}
}

func TestCanonicalOriginSaysWhatIsWrongWithoutTheOrigin(t *testing.T) {
	t.Parallel()
	const (
		noURL  = "is no URL of a repository: write https://host/owner/repository"
		scheme = "has a scheme that cannot be cloned: use https, http, git or an SSH form"
		user   = "has a user or password in it: take it out, credentials do not belong in an origin"
	)
	for text, want := range map[string]string{
		"":                                 "is missing: a git target needs the URL of a repository",
		"https://s3cret@github.com/o/r":    user,
		"https://me:s3cret@github.com/o/r": user,
		"http://:s3cret@github.com/o/r":    user,
		"ssh://git:s3cret@github.com/o/r":  "has a password in it: take it out, credentials do not belong in an origin",
		"file:///s3cret/r":                 scheme,
		"ext::sh -c s3cret":                "is no URL of a repository",
		"ext::s3cret":                      noURL,
		"/s3cret/r":                        noURL,
		"./s3cret":                         noURL,
		"ftp://example.com/s3cret":         scheme,
		"https:///s3cret":                  "names no host",
		"https://github.com":               "names no repository",
		"https://github.com/":              "names no repository",
		"git@github.com:/":                 "names no repository",
		"https://github.com/o/r?t=s3cret":  "has a query or a fragment: write the URL of the repository alone",
		"https://github.com/o/r#s3cret":    "has a query or a fragment: write the URL of the repository alone",
		"https://github.com/o/../s3cret":   "has . or .. in its path",
		"https://github.com/o/r\ns3cret":   "is no URL of a repository",
		"https://git hub.com/s3cret":       "is no URL of a repository",
		"https://github.com/%zz/s3cret":    noURL,
		"-s3cret":                          noURL,
		"--upload-pack=s3cret:x":           noURL,
		"ssh://-oProxyCommand=s3cret/x":    "names no host",
	} {
		_, err := berth.CanonicalOrigin(text)
		if err == nil || err.Error() != want || berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("CanonicalOrigin(%q): got %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("CanonicalOrigin(%q): the error holds the origin: %v", text, err)
		}
	}
}

func TestNormalizeTargetKeepsOneSpelling(t *testing.T) {
	t.Parallel()
	got := berth.NormalizeTarget(berth.Target{Kind: berth.TargetGit, Origin: "git@GitHub.com:o/r", SHA: strings.ToUpper(sha)})
	want := berth.Target{Kind: berth.TargetGit, Origin: "https://github.com/o/r", SHA: sha}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NormalizeTarget (-want +got)\n%s", diff)
	}
}

func FuzzCanonicalOrigin(f *testing.F) {
	for _, seed := range []string{"git@github.com:o/r", "ssh://a@b:1/c", "https://u:p@h/x", "ext::sh", "https://[::1]/x", "a:b:c", "http://h/%2e%2e/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := berth.CanonicalOrigin(text)
		if err != nil {
			return
		}
		if again, err := berth.CanonicalOrigin(got); err != nil || again != got {
			t.Errorf("CanonicalOrigin(%q) = %q, of which it makes %q, %v", text, got, again, err)
		}
		if strings.Contains(got, "@") && !strings.Contains(text[strings.IndexAny(text, "/:"):], "@") || got[0] == '-' {
			t.Errorf("CanonicalOrigin(%q) = %q", text, got)
		}
	})
}
