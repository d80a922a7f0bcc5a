package blob_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/blob"
)

func FuzzAKeyThatPassesStaysInItsFolder(f *testing.F) {
	for _, key := range []string{
		"a", "runs/01/out/0-10-ab", ".hidden/..double", "", "/", "../a", "a/../b", "a//b", "a/", "C:/x", `a\b`, "a\x00", "é", "~tmp",
		strings.Repeat("p", blob.MaxPartBytes+1), strings.Repeat("p/", blob.MaxKeyBytes/2) + "p",
	} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if blob.CheckKey(key) != nil {
			return
		}
		if !filepath.IsLocal(key) || path.Clean(key) != key || len(key) > blob.MaxKeyBytes {
			t.Errorf("CheckKey(%q) = nil", key)
		}
		if err := blob.CheckPrefix(key + "/"); err != nil {
			t.Errorf("CheckPrefix(%q) = %v, though its key is one", key+"/", err)
		}
	})
}
