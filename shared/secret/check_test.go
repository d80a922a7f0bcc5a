package secret_test

import (
	"path"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/secret"
)

func FuzzANameThatPassesStaysInItsScope(f *testing.F) {
	for _, name := range []string{
		"user/TOKEN", "provider/host/01hzy.token", "user", "user/", "/user/A", "user//A", "other/A", "user/..", "user/../provider/A",
		"user/-A", "user/a b", "user/A\n", "user/ä", "user/" + strings.Repeat("N", secret.MaxNameBytes),
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if secret.CheckName(name) != nil {
			return
		}
		scope, rest, _ := strings.Cut(name, "/")
		if (scope != "user" && scope != "provider") || rest == "" || path.Clean(name) != name || len(name) > secret.MaxNameBytes {
			t.Errorf("CheckName(%q) = nil", name)
		}
	})
}
