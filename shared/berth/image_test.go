package berth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	sha256Digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	bareImageID  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

func TestParseImageSplitsReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		ref  berth.ImageRef
		full string
	}{
		"debian":                         {berth.ImageRef{Repository: "debian"}, "debian:latest"},
		"buildpack-deps:noble":           {berth.ImageRef{Repository: "buildpack-deps", Tag: "noble"}, "buildpack-deps:noble"},
		"library/debian:13":              {berth.ImageRef{Repository: "library/debian", Tag: "13"}, "library/debian:13"},
		"registry:5000/img":              {berth.ImageRef{Registry: "registry:5000", Repository: "img"}, "registry:5000/img:latest"},
		"registry:5000/team/img:v1":      {berth.ImageRef{Registry: "registry:5000", Repository: "team/img", Tag: "v1"}, "registry:5000/team/img:v1"},
		"localhost/img":                  {berth.ImageRef{Registry: "localhost", Repository: "img"}, "localhost/img:latest"},
		"img@" + sha256Digest:            {berth.ImageRef{Repository: "img", Digest: sha256Digest}, "img@" + sha256Digest},
		"ghcr.io/a/b:V1@" + sha256Digest: {berth.ImageRef{Registry: "ghcr.io", Repository: "a/b", Tag: "V1", Digest: sha256Digest}, "ghcr.io/a/b:V1@" + sha256Digest},
		"GHCR.io/a/b":                    {berth.ImageRef{Registry: "GHCR.io", Repository: "a/b"}, "GHCR.io/a/b:latest"},
		"[::1]:5000/img":                 {berth.ImageRef{Registry: "[::1]:5000", Repository: "img"}, "[::1]:5000/img:latest"},
		"a__b/c--d/e.f_g":                {berth.ImageRef{Repository: "a__b/c--d/e.f_g"}, "a__b/c--d/e.f_g:latest"},
	} {
		got, err := berth.ParseImage(text)
		if diff := cmp.Diff(want.ref, got); err != nil || diff != "" {
			t.Errorf("ParseImage(%q): %v, (-want +got)\n%s", text, err, diff)
		}
		if got.String() != want.full {
			t.Errorf("ParseImage(%q).String() = %q, want %q", text, got.String(), want.full)
		}
	}
}

func TestParseImageSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const (
		repository = "has a malformed repository: parts of lower-case letters and digits, joined by single separators (. _ -), split by slashes"
		upper      = "has upper-case letters in the repository: only the registry and the tag may have them"
		tag        = "has a malformed tag: a tag is 1 to 128 letters, digits, underscores, dots and dashes"
		digest     = "has a malformed digest: write sha256: and 64 lower-case hex digits"
	)
	for text, want := range map[string]string{
		"":                                   "is empty: write an image reference such as debian:13",
		"deb ian":                            "has a space, which no image reference has",
		"debian\n":                           "has a space, which no image reference has",
		"https://ghcr.io/a/b":                "is a URL: write the image reference without its scheme",
		"Debian":                             upper,
		"team/Img":                           upper,
		"ghcr.io/Team/img":                   upper,
		"debian:":                            tag,
		"debian:-x":                          tag,
		"debian:" + strings.Repeat("a", 129): tag,
		"debian@sha256:12":                   digest,
		"debian@md5:12":                      digest,
		"debian@":                            digest,
		"debian@" + strings.ToUpper(sha256Digest): digest,
		bareImageID:               "is an image id of 64 hex digits: name a repository, with @sha256: before a digest",
		"/img":                    repository,
		"img/":                    repository,
		"a//b":                    repository,
		"a..b":                    repository,
		"-img":                    repository,
		"a___b":                   repository,
		"../img":                  "has a malformed registry: write host or host:port before the first slash",
		"reg:port/img":            "has a malformed registry: write host or host:port before the first slash",
		"reg:5000/":               "names no repository",
		strings.Repeat("a", 256):  "has a name of more than 255 characters",
		strings.Repeat("a", 1025): "is too long for an image reference",
	} {
		_, err := berth.ParseImage(text)
		if err == nil || err.Error() != want || berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("ParseImage(%q): got %v, want %q", text, err, want)
		}
	}
}

func FuzzParseImage(f *testing.F) {
	for _, seed := range []string{"registry:5000/img", "img@" + sha256Digest, "A/b", "a:b:c", "a@b@c", "[::1]/x", "localhost:1/x:2", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := berth.ParseImage(text)
		if err != nil {
			return
		}
		again, err := berth.ParseImage(ref.String())
		if err != nil || again.String() != ref.String() {
			t.Errorf("ParseImage(%q) is %+v, whose String reads as %+v, %v", text, ref, again, err)
		}
	})
}
