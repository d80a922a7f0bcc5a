package blobtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/blob"
)

func badKeys(t *testing.T, b berth.Blobs) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", "a b", "a~", "~tmp", "a\\b", "a:b",
		"é", "a\x00", "C:/x", strings.Repeat("p", blob.MaxPartBytes+1), strings.Repeat("p/", blob.MaxKeyBytes/2) + "p",
	} {
		call := fmt.Sprintf("with key %.40q", key)
		wantCode(t, "Put "+call, b.Put(t.Context(), key, strings.NewReader("x"), 1), berth.CodeInvalid)
		_, err := b.Open(t.Context(), key, 0, -1)
		wantCode(t, "Open "+call, err, berth.CodeInvalid)
		_, err = b.Size(t.Context(), key)
		wantCode(t, "Size "+call, err, berth.CodeInvalid)
	}
	longest := strings.Repeat("p", blob.MaxPartBytes)
	put(t, b, longest+"/"+longest, "x")
	want(t, b, longest+"/"+longest, "x")
}

func deletePrefix(t *testing.T, b berth.Blobs) {
	fill := func() {
		for _, key := range []string{"r/1", "r/1/a", "r/1/b/c", "r/10", "r/2/a", "r", "s/1"} {
			put(t, b, key, key)
		}
	}
	for _, test := range []struct{ prefix, gone string }{
		{"r/1/", "r/1/a r/1/b/c"},
		{"r/1", "r/1 r/1/a r/1/b/c r/10"},
		{"r/1/b", "r/1/b/c"},
		{"r", "r r/1 r/1/a r/1/b/c r/10 r/2/a"},
		{"r/", "r/1 r/1/a r/1/b/c r/10 r/2/a"},
		{"x/y/z", ""},
		{"r/2/a/b/c", ""},
	} {
		fill()
		if err := b.DeletePrefix(t.Context(), test.prefix); err != nil {
			t.Fatalf("DeletePrefix(%q): %v", test.prefix, err)
		}
		gone := map[string]bool{}
		for _, key := range strings.Fields(test.gone) {
			gone[key] = true
			wantAbsent(t, b, key)
		}
		for _, key := range []string{"r/1", "r/1/a", "r/1/b/c", "r/10", "r/2/a", "r", "s/1"} {
			if !gone[key] {
				want(t, b, key, key)
			}
		}
	}
}

func badPrefixes(t *testing.T, b berth.Blobs) {
	put(t, b, "k", "x")
	for _, prefix := range []string{"", "/", "//", "..", "../", "a/../", "~", "a b", "*"} {
		wantCode(t, fmt.Sprintf("DeletePrefix(%q)", prefix), b.DeletePrefix(t.Context(), prefix), berth.CodeInvalid)
	}
	want(t, b, "k", "x")
}
