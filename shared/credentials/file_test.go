package credentials_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/credentials"
)

var key = "bth_" + strings.Repeat("k", 43)

func entry(name string) credentials.Context {
	return credentials.Context{Name: name, Server: "https://" + name + ".example.com", Key: berth.NewSecretValue([]byte(key))}
}

func put(t *testing.T, path string, names ...string) {
	t.Helper()
	if err := credentials.Change(t.Context(), path, func(f *credentials.File) error {
		for _, name := range names {
			f.Put(entry(name))
			f.Current = name
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// names are a file's, the current one with a star.
func names(t *testing.T, path string) []string {
	t.Helper()
	f, err := credentials.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range f.List() {
		name := c.Name
		if name == f.Current {
			name += "*"
		}
		out = append(out, name)
	}
	return out
}

func TestWhatIsKeptComesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "berth", credentials.FileName)
	if f, err := credentials.Load(path); err != nil || len(f.List()) > 0 || f.Current != "" {
		t.Errorf("a file that is not there: %v, %v", f, err)
	}
	put(t, path, "one", "two")
	f, err := credentials.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := f.Find("one")
	if !ok || c.Server != "https://one.example.com" || string(c.Key.Reveal()) != key || c.Shown() != "kkkkkkkk" {
		t.Errorf("Find() = %v, %v", c, ok)
	}
	if c, ok := f.ForServer("HTTPS://two.example.com:443/api/v1/"); !ok || c.Name != "two" {
		t.Errorf("ForServer() = %v, %v", c, ok)
	}
	for _, other := range []string{"http://two.example.com", "https://two.example.com:8443", "https://two.example.com/stage", "https://wo.example.com", "https://two.example.com.", ""} {
		if c, ok := f.ForServer(other); ok {
			t.Errorf("%q is taken for %s", other, c.Server)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", f, f, f); strings.Contains(text, key) {
		t.Errorf("the key shows in %s", text)
	}
}

func TestTheCurrentContextIsGoneWithItsRemoval(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), credentials.FileName)
	put(t, path, "one", "two")
	remove := func(name string) (found bool) {
		if err := credentials.Change(t.Context(), path, func(f *credentials.File) error { found = f.Remove(name); return nil }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if !remove("two") || remove("two") {
		t.Error("the removal is not told from one of nothing")
	}
	if diff := cmp.Diff([]string{"one"}, names(t, path)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestAChangeThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), credentials.FileName)
	put(t, path, "one")
	no := errors.New("no")
	if err := credentials.Change(t.Context(), path, func(f *credentials.File) error { f.Remove("one"); return no }); !errors.Is(err, no) {
		t.Errorf("Change() = %v", err)
	}
	if diff := cmp.Diff([]string{"one*"}, names(t, path)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestOfManyChangesAtOnceNoneIsLost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), credentials.FileName)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := credentials.Change(t.Context(), path, func(f *credentials.File) error { f.Put(entry(fmt.Sprintf("c%02d", i))); return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := names(t, path); len(got) != 20 {
		t.Errorf("kept %v", got)
	}
}

func TestFilesWithFaultsAreRefusedWithoutTheirKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, want string
		code       berth.Code
	}{
		"no TOML":                          {"[contexts.one\nkey = " + key, "", berth.CodeMalformed},
		"a key that is no text":            {"[contexts.one]\nserver = \"https://h\"\nkey = [\"" + key + "\"]", "contexts.one.key", berth.CodeInvalid},
		"an unknown key":                   {"[contexts.one]\nserver = \"https://h\"\nkye = \"" + key + "\"", "kye", berth.CodeInvalid},
		"a server that is none":            {"[contexts.one]\nserver = \"h\"\nkey = \"" + key + "\"", "contexts.one.server", berth.CodeInvalid},
		"a name that is reserved":          {"[contexts.local]\nserver = \"https://h\"\nkey = \"" + key + "\"", "contexts.local", berth.CodeInvalid},
		"a current one that is not there":  {"current = \"two\"", "current", berth.CodeInvalid},
		"a form of a later berth":          {"_version = 2\n[more]", "update berth", berth.CodeUnavailable},
		"a form that is no number of ours": {"_version = \"x\"", "_version", berth.CodeInvalid},
	} {
		path := filepath.Join(t.TempDir(), credentials.FileName)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := credentials.Load(path)
		if berth.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v, want %s and %q", name, err, test.code, test.want)
		}
		change := credentials.Change(t.Context(), path, func(*credentials.File) error { return nil })
		if got, rerr := os.ReadFile(path); change == nil || rerr != nil || string(got) != test.text {
			t.Errorf("%s was written over: %v\n%s", name, change, got)
		}
	}
}
