package sealed_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/secret/sealed"
	"github.com/berth-dev/berth/shared/secret/secrettest"
	"github.com/google/go-cmp/cmp"
)

// place is a file of secrets and its key, in two folders.
type place struct{ file, key string }

func newPlace(t testing.TB) place {
	t.Helper()
	folder := t.TempDir()
	return place{filepath.Join(folder, "data", "secrets.age"), filepath.Join(folder, "config", "secrets.key")}
}

func (p place) open(t testing.TB) *sealed.Secrets {
	t.Helper()
	secrets, err := sealed.Open(p.file, p.key)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := secrets.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return secrets
}

func value(s string) berth.SecretValue { return berth.NewSecretValue([]byte(s)) }

func TestContract(t *testing.T) {
	t.Parallel()
	secrettest.Run(t, func(t *testing.T) berth.Secrets { return newPlace(t).open(t) })
}

func TestSecretsOutliveTheProcessAndAreNotInTheFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := p.open(t).Put(t.Context(), "user/TOKEN", value("CANARY-value")); err != nil {
		t.Fatal(err)
	}
	got, err := p.open(t).Read(t.Context(), "user/TOKEN")
	if err != nil || string(got.Reveal()) != "CANARY-value" {
		t.Fatalf("Read after opening again = %q, %v", got.Reveal(), err)
	}
	stored, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, leak := range []string{"CANARY", "TOKEN", "Q0FOQVJZ"} {
		if bytes.Contains(stored, []byte(leak)) {
			t.Errorf("the file of secrets holds %q in clear", leak)
		}
	}
	for _, path := range []string{p.file, p.key, p.file + ".lock", p.key + ".lock"} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); runtime.GOOS != "windows" && got != 0o600 {
			t.Errorf("mode of %s = %o, want 600", filepath.Base(path), got)
		}
	}
}

func TestTwoProcessesLoseNothingOfEachOther(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const writers, each = 4, 6
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range errs {
		// Each has its own lock and its own memory, as a process has.
		secrets := p.open(t)
		wg.Go(func() {
			for n := range each {
				if err := secrets.Put(t.Context(), fmt.Sprintf("user/W%d_%d", w, n), value("value")); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	secrets := p.open(t)
	for w := range writers {
		for n := range each {
			if _, err := secrets.Read(t.Context(), fmt.Sprintf("user/W%d_%d", w, n)); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAChangeByAnotherProcessIsSeen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one, other := p.open(t), p.open(t)
	for n := range 5 {
		want := fmt.Sprintf("value-%d", n) // all of one length
		if err := one.Put(t.Context(), "user/A", value(want)); err != nil {
			t.Fatal(err)
		}
		got, err := other.Read(t.Context(), "user/A")
		if err != nil || string(got.Reveal()) != want {
			t.Fatalf("Read = %q, %v; want %q", got.Reveal(), err, want)
		}
	}
}

func TestManyFirstStartsShareOneKey(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	key := filepath.Join(folder, "secrets.key")
	const starts = 8
	errs := make([]error, starts)
	opened := make([]*sealed.Secrets, starts)
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() { opened[n], errs[n] = sealed.Open(filepath.Join(folder, fmt.Sprint(n), "secrets.age"), key) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for n := range starts {
		if err := opened[n].Put(t.Context(), "user/A", value("value")); err != nil {
			t.Fatal(err)
		}
		place{filepath.Join(folder, fmt.Sprint(n), "secrets.age"), key}.open(t)
	}
}

func TestWhatIsLostOrBrokenIsNeverSilentlyEmpty(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, p place)
		want  string
	}{
		{"a lost key", func(t *testing.T, p place) { must(t, os.Remove(p.key)) }, "Restore the key"},
		{"another key", func(t *testing.T, p place) {
			other := newPlace(t)
			other.open(t)
			b, err := os.ReadFile(other.key)
			must(t, err)
			must(t, os.WriteFile(p.key, b, 0o600))
		}, "belongs together"},
		{"an empty key", func(t *testing.T, p place) { must(t, os.WriteFile(p.key, nil, 0o600)) }, "Restore it from a backup"},
		{"a key that is noise", func(t *testing.T, p place) { must(t, os.WriteFile(p.key, []byte("AGE-SECRET-KEY-1NOISE"), 0o600)) }, "Restore it from a backup"},
		{"an empty file", func(t *testing.T, p place) { must(t, os.WriteFile(p.file, nil, 0o600)) }, "belongs together"},
		{"a file that is noise", func(t *testing.T, p place) { must(t, os.WriteFile(p.file, []byte("noise"), 0o600)) }, "belongs together"},
		{"a file cut short", func(t *testing.T, p place) {
			info, err := os.Stat(p.file)
			must(t, err)
			must(t, os.Truncate(p.file, info.Size()-1))
		}, "belongs together"},
		{"a flipped bit", func(t *testing.T, p place) {
			b, err := os.ReadFile(p.file)
			must(t, err)
			b[len(b)-20] ^= 1
			must(t, os.WriteFile(p.file, b, 0o600))
		}, "belongs together"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			running := p.open(t)
			must(t, running.Put(t.Context(), "user/A", value("CANARY-value")))
			test.spoil(t, p)
			before, _ := os.ReadFile(p.file)
			_, err := sealed.Open(p.file, p.key)
			wantRemedy(t, err, test.want)
			after, _ := os.ReadFile(p.file)
			if !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			if strings.Contains(test.name, "file") || strings.Contains(test.name, "bit") {
				_, err := running.Read(t.Context(), "user/A")
				wantRemedy(t, err, test.want)
				wantRemedy(t, running.Put(t.Context(), "user/B", value("value")), test.want)
			}
		})
	}
}

func TestAFileTakenAwayIsReported(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	secrets := p.open(t)
	must(t, os.Remove(p.file))
	_, err := secrets.Read(t.Context(), "user/A")
	wantRemedy(t, err, "Put it back")
	wantRemedy(t, secrets.Put(t.Context(), "user/A", value("value")), "Put it back")
}

func TestAKeyThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	p := newPlace(t)
	p.open(t)
	must(t, os.Chmod(p.key, 0o644))
	_, err := sealed.Open(p.file, p.key)
	wantRemedy(t, err, "chmod 600")
}

func TestChangesLeaveNoOtherFileBehind(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	secrets := p.open(t)
	for range 3 {
		must(t, secrets.Put(t.Context(), "user/A", value("value")))
		must(t, secrets.Delete(t.Context(), "user/A"))
	}
	entries, err := os.ReadDir(filepath.Dir(p.file))
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if diff := cmp.Diff([]string{"secrets.age", "secrets.age.lock"}, names); diff != "" {
		t.Errorf("the data folder, want (-) got (+):\n%s", diff)
	}
}

func BenchmarkRead(b *testing.B) {
	secrets := newPlace(b).open(b)
	if err := secrets.Put(b.Context(), "user/A", value("value")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := secrets.Read(b.Context(), "user/A"); err != nil {
			b.Fatal(err)
		}
	}
}

func wantRemedy(t *testing.T, err error, want string) {
	t.Helper()
	var coded *berth.Error
	if !errors.As(err, &coded) || coded.Code != berth.CodeUnavailable {
		t.Fatalf("error = %v, want unavailable", err)
	}
	if !strings.Contains(coded.Remediation, want) {
		t.Fatalf("error %q says %q, want it to say %q", coded.Message, coded.Remediation, want)
	}
	if text := fmt.Sprintf("%v %#v", err, coded); strings.Contains(text, "CANARY") || strings.Contains(text, "AGE-SECRET") {
		t.Fatalf("the error tells a secret: %s", text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
