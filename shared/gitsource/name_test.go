package gitsource_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/gitsource"
	"github.com/berth-dev/berth/shared/gitsource/gitservertest"
)

// oddNames are names that git allows and a careless shell or option parser does not.
var oddNames = []string{
	"$(touch${IFS}pwned)", "`touch${IFS}pwned`;touch${IFS}pwned;'\"", "x/--upload-pack=touch", "HEAD", "a&&b|c>d<e&", "%s%n#!{a,b}=(c)",
	"äöü/日本語😀", "FETCH_HEAD", "0123456789abcdef0123456789abcdef01234567", "heads/main", "origin/main", strings.Repeat("long", 50),
}

func TestNamesAreOnlyNames(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many programs")
	}
	s := gitservertest.Start(t, gitservertest.Options{})
	random := rand.New(rand.NewPCG(3, 4))
	names := slices.Clone(oddNames)
	for range 5 {
		names = append(names, randomName(random))
	}
	for _, name := range names {
		s.Git(t, "update-ref", "refs/tags/"+name, s.Light)
		s.Git(t, "update-ref", "refs/heads/"+name, s.Light)
		s.Git(t, "symbolic-ref", "HEAD", "refs/heads/"+name)
		for _, target := range []berth.Target{{Branch: name, Tag: name}, {}} {
			target.Origin = s.URL
			run := newClone(t, target)
			run.run(t)
			if name == "HEAD" {
				run.wantFailed(t, gitsource.StatusFailed, "as branch HEAD")
			} else {
				run.wantAt(t, name, s.Light)
			}
			if _, err := os.Stat(filepath.Join(run.workspace, "pwned")); err == nil {
				t.Errorf("the name %q was run", name)
			}
		}
		s.Git(t, "symbolic-ref", "HEAD", "refs/heads/main")
		s.Git(t, "update-ref", "-d", "refs/tags/"+name)
		s.Git(t, "update-ref", "-d", "refs/heads/"+name)
	}
}

func randomName(random *rand.Rand) string {
	const letters = "ab1-_.,;'\"`$(){}|&<>=+#!%@ö/"
	for {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			r := []rune(letters)
			b.WriteRune(r[random.IntN(len(r))])
		}
		target := berth.Target{Kind: berth.TargetGit, Origin: "https://example.com/r", Branch: b.String()}
		if len(berth.ValidateTarget(target)) == 0 {
			return b.String()
		}
	}
}

func TestADefaultBranchThatIsAnOptionIsRefused(t *testing.T) {
	t.Parallel()
	s := gitservertest.Start(t, gitservertest.Options{})
	s.Git(t, "update-ref", "refs/heads/--orphan=x", s.Light)
	s.Git(t, "symbolic-ref", "HEAD", "refs/heads/--orphan=x")
	run := newClone(t, berth.Target{Origin: s.URL})
	run.run(t)
	run.wantFailed(t, gitsource.StatusRevision, "--orphan=x is no name for a branch")
}

func TestATargetIsNeverPartOfTheScript(t *testing.T) {
	t.Parallel()
	plain, err := gitsource.Source{}.CloneCommand(t.Context(), berth.Definition{Target: berth.Target{Kind: berth.TargetGit, Origin: "https://example.com/r"}})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9$'"\x60;|&<>(){}#!%=+,._@/-]{0,12}`)
		target := berth.Target{
			Kind: berth.TargetGit, Origin: "https://example.com/" + name.Draw(t, "path"),
			Branch: name.Draw(t, "branch"), Tag: name.Draw(t, "tag"), SHA: rapid.StringMatching(`([0-9a-fA-F]{40})?`).Draw(t, "sha"),
		}
		spec, err := gitsource.Source{}.CloneCommand(t.Context(), berth.Definition{Target: target})
		if faults := berth.ValidateTarget(target); len(faults) > 0 {
			if berth.CodeOf(err) != berth.CodeInvalid {
				t.Fatalf("CloneCommand(%+v): %v, want invalid for %v", target, err, faults)
			}
			return
		}
		if err != nil {
			t.Fatalf("CloneCommand(%+v): %v", target, err)
		}
		target = berth.NormalizeTarget(target)
		want := append(slices.Clone(plain.Argv[:5]), target.Origin, target.Branch, target.Tag, target.SHA, "0", "no", "2,5,10", "")
		if !slices.Equal(spec.Argv, want) {
			t.Fatalf("the arguments are %q, want %q", spec.Argv[5:], want[5:])
		}
		for _, name := range []string{target.Branch, target.Tag, target.Origin} {
			if strings.HasPrefix(name, "-") {
				t.Fatalf("%q begins with a dash", name)
			}
		}
	})
}
