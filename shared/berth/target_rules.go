package berth

import (
	"path"
	"strings"
)

var shaPattern = lazyPattern(`^[0-9a-fA-F]{40}$`)

// CheckTarget tells whether a provider takes a kind of target. What it returns
// is unsupported: local works in folders of the server and clones nothing; the
// others own their workspace and see no folder of the server.
func CheckTarget(t Target, provider ProviderKind) []Problem {
	switch local := provider == ProviderLocal; {
	case local && t.Kind == TargetGit:
		return []Problem{{"target.kind", "the local provider clones nothing: use a folder target, or an environment of another provider"}}
	case local && t.Kind == TargetNone:
		return []Problem{{"target.kind", "the local provider has no empty workspace: use a folder target, or an environment of another provider"}}
	case !local && t.Kind == TargetFolder:
		return []Problem{{"target.kind", "the " + string(provider) + " provider sees no folder of the server: use a git target or none, or an environment of provider local"}}
	}
	return nil
}

// NormalizeTarget gives a valid target its stored form: the origin as
// [CanonicalOrigin], the SHA in lower case.
func NormalizeTarget(t Target) Target {
	if t.Kind != TargetGit {
		return t
	}
	if origin, err := CanonicalOrigin(t.Origin); err == nil {
		t.Origin = origin
	}
	t.SHA = strings.ToLower(t.SHA)
	return t
}

// ValidateTarget returns every fault of a target's form; whether a provider
// takes it says [CheckTarget]. The zero target, "none was sent", is right
// everywhere. Locations are below `target`.
func ValidateTarget(t Target) []Problem {
	var p Problems
	switch t.Kind {
	case TargetGit:
		validateGitTarget(&p, t)
	case TargetFolder:
		validateFolderTarget(&p, t.Path)
	case TargetNone:
	case "":
		if t != (Target{}) {
			p.Addf("target.kind", "is missing: must be one of git, none, folder")
		}
		return p.List()
	default:
		p.Addf("target.kind", "must be one of git, none, folder")
		return p.List()
	}
	for _, f := range []struct {
		name, value string
		kind        TargetKind
	}{
		{"origin", t.Origin, TargetGit},
		{"branch", t.Branch, TargetGit},
		{"tag", t.Tag, TargetGit},
		{"sha", t.SHA, TargetGit},
		{"path", t.Path, TargetFolder},
	} {
		if f.value != "" && f.kind != t.Kind {
			p.Addf("target."+f.name, "is for a %s target alone", f.kind)
		}
	}
	return p.List()
}

func validateFolderTarget(p *Problems, dir string) {
	switch {
	case dir == "":
		p.Addf("target.path", "is missing: a folder target needs an absolute path on the server")
	case badText(dir) || len(dir) > maxPathBytes:
		p.Addf("target.path", "is not a path: a NUL, another control character, text that is not UTF-8, or more than %d bytes", maxPathBytes)
	case !path.IsAbs(dir):
		p.Addf("target.path", "must be an absolute path on the server")
	}
}

func validateGitTarget(p *Problems, t Target) {
	if _, err := CanonicalOrigin(t.Origin); err != nil {
		p.AddError("target.origin", err)
	}
	if t.Branch != "" {
		validateRefName(p, "target.branch", "branch", t.Branch)
	}
	if t.Tag != "" {
		validateRefName(p, "target.tag", "tag", t.Tag)
	}
	if t.SHA != "" && !shaPattern.MatchString(t.SHA) {
		p.Addf("target.sha", "must be a full commit SHA of 40 hex digits; nothing shorter, and no name")
	}
}

const maxRefBytes = 255

// validateRefName follows git's rules for what comes behind refs/heads/ or refs/tags/.
func validateRefName(p *Problems, field, what, name string) {
	if strings.HasPrefix(name, "refs/") {
		p.Addf(field, "must be the bare name of a %s, without refs/", what)
		return
	}
	bad := len(name) > maxRefBytes || badText(name) || name == "@" || name[0] == '-' || strings.ContainsAny(name, " ~^:?*[\\") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".")
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		p.Addf(field, "is no name that git allows for a %s", what)
	}
}
