package main

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestTargetFlag(t *testing.T) {
	t.Parallel()
	const sha = "0123456789abcdef0123456789abcdef01234567"
	for name, test := range map[string]struct {
		flag string
		want *berth.Target
		code berth.Code
	}{
		"is none when absent":          {"", nil, ""},
		"takes none":                   {"none", &berth.Target{Kind: berth.TargetNone}, ""},
		"takes an absolute folder":     {"folder:/srv/x", &berth.Target{Kind: berth.TargetFolder, Path: "/srv/x"}, ""},
		"takes a folder from here":     {"folder:sub", &berth.Target{Kind: berth.TargetFolder, Path: "/here/sub"}, ""},
		"takes an origin":              {"git:https://h/r", &berth.Target{Kind: berth.TargetGit, Origin: "https://h/r"}, ""},
		"takes an SSH origin":          {"git:git@h:o/r.git#main", &berth.Target{Kind: berth.TargetGit, Origin: "git@h:o/r.git", Branch: "main"}, ""},
		"takes a branch with slashes":  {"git:https://h/r#a/b", &berth.Target{Kind: berth.TargetGit, Origin: "https://h/r", Branch: "a/b"}, ""},
		"takes branch, tag and commit": {"git:https://h/r#branch=b,tag=v1,sha=" + sha, &berth.Target{Kind: berth.TargetGit, Origin: "https://h/r", Branch: "b", Tag: "v1", SHA: sha}, ""},
		"refuses a short commit":       {"git:https://h/r#sha=0123", nil, berth.CodeInvalid},
		"refuses an unknown part":      {"git:https://h/r#rev=1", nil, berth.CodeInvalid},
		"refuses an unknown kind":      {"svn:x", nil, berth.CodeInvalid},
		"refuses a folder of no name":  {"folder:", nil, berth.CodeInvalid},
		"refuses none with more":       {"none:x", nil, berth.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &app{dir: "/here"}
			got, err := a.parseTarget(context.Background(), test.flag)
			if berth.CodeOf(err) != test.code {
				t.Fatalf("parseTarget(%q) = %v, want code %q", test.flag, err, test.code)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("parseTarget(%q) (-want +got):\n%s", test.flag, diff)
			}
		})
	}
}
