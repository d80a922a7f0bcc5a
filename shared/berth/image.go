package berth

import (
	"strings"
)

// DefaultDockerImage is what provider docker uses when an environment names none.
const DefaultDockerImage = "buildpack-deps:noble"

// ImageRef is a container image reference in its parts. A registry with a port
// and a digest are told from a tag by the grammar, not by the last colon.
type ImageRef struct {
	Registry   string // host[:port]; empty means the engine's default
	Repository string // path without registry, such as library/debian
	Tag        string
	Digest     string // sha256:… or sha512:…
}

var (
	imageRegistry = lazyPattern(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*)(:[0-9]{1,5})?$`)
	imagePath     = lazyPattern(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$`)
	imageTag      = lazyPattern(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	imageDigest   = lazyPattern(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)
	imageBareID   = lazyPattern(`^[0-9a-f]{64}$`)
)

const (
	maxImageName  = 255
	maxImageBytes = 1024
)

// ParseImage reads an image reference: [registry[:port]/]path[:tag][@digest].
// Error: invalid.
func ParseImage(s string) (ImageRef, error) {
	var ref ImageRef
	switch {
	case s == "":
		return ref, Errorf(CodeInvalid, "is empty: write an image reference such as debian:13")
	case len(s) > maxImageBytes:
		return ref, Errorf(CodeInvalid, "is too long for an image reference")
	case strings.ContainsAny(s, " \t\r\n"):
		return ref, Errorf(CodeInvalid, "has a space, which no image reference has")
	case strings.Contains(s, "://"):
		return ref, Errorf(CodeInvalid, "is a URL: write the image reference without its scheme")
	}
	name, digest, hasDigest := strings.Cut(s, "@")
	if hasDigest && !imageDigest.MatchString(digest) {
		return ref, Errorf(CodeInvalid, "has a malformed digest: write sha256: and 64 lower-case hex digits")
	}
	ref.Digest = digest
	// A colon behind the last slash begins a tag; one before it, a port.
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		ref.Tag = name[i+1:]
		name = name[:i]
		if !imageTag.MatchString(ref.Tag) {
			return ImageRef{}, Errorf(CodeInvalid, "has a malformed tag: a tag is 1 to 128 letters, digits, underscores, dots and dashes")
		}
	}
	ref.Repository = name
	if first, rest, found := strings.Cut(name, "/"); found && isRegistry(first) {
		if !imageRegistry.MatchString(first) {
			return ImageRef{}, Errorf(CodeInvalid, "has a malformed registry: write host or host:port before the first slash")
		}
		ref.Registry, ref.Repository = first, rest
	}
	if err := checkRepository(ref.Repository); err != nil {
		return ImageRef{}, err
	}
	if len(name) > maxImageName {
		return ImageRef{}, Errorf(CodeInvalid, "has a name of more than %d characters", maxImageName)
	}
	return ref, nil
}

// isRegistry tells a registry from the first part of a repository, as engines do.
func isRegistry(first string) bool {
	return strings.ContainsAny(first, ".:") || first == "localhost" || first != strings.ToLower(first)
}

func checkRepository(repository string) error {
	switch {
	case repository == "":
		return Errorf(CodeInvalid, "names no repository")
	case repository != strings.ToLower(repository):
		return Errorf(CodeInvalid, "has upper-case letters in the repository: only the registry and the tag may have them")
	case imageBareID.MatchString(repository):
		return Errorf(CodeInvalid, "is an image id of 64 hex digits: name a repository, with @sha256: before a digest")
	}
	for part := range strings.SplitSeq(repository, "/") {
		if !imagePath.MatchString(part) {
			return Errorf(CodeInvalid, "has a malformed repository: parts of lower-case letters and digits, joined by single separators (. _ -), split by slashes")
		}
	}
	return nil
}

// String is the reference as it is handed to an engine. With neither tag nor
// digest it has the tag latest, which engines would assume.
func (r ImageRef) String() string {
	s := r.Repository
	if r.Registry != "" {
		s = r.Registry + "/" + s
	}
	switch {
	case r.Tag != "":
		s += ":" + r.Tag
	case r.Digest == "":
		s += ":latest"
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}
