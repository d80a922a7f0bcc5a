package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table/sqlite"
	"github.com/berth-dev/berth/shared/table/tabletest"
)

func TestItemsOutliveTheProcessThatWroteThem(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "berth.db")
	first, err := sqlite.Open(t.Context(), path, tabletest.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	if _, err := first.Put(t.Context(), berth.Item{PK: "p", SK: "s", Body: []byte("kept")}); err != nil {
		t.Fatal(err)
	}
	// A copy of the files at this moment, without a Close, is what a kill leaves.
	after := filepath.Join(t.TempDir(), "berth.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(after+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	item, err := openAt(t, after, tabletest.NewClock()).Get(t.Context(), "p", "s")
	if err != nil || string(item.Body) != "kept" {
		t.Fatalf("Get after the kill = %q, %v; want what was written", item.Body, err)
	}
}

func TestOthersCannotReadTheFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	path := filepath.Join(t.TempDir(), "berth.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	table := openAt(t, path, tabletest.NewClock())
	if _, err := table.Put(t.Context(), berth.Item{PK: "p", SK: "s"}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of berth.db%s = %o, want 600", suffix, got)
		}
	}
}

func TestAPathMayHoldAnyCharacter(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a?b", "a#b", "a%41b", "a b", "ü&_pragma=x", strings.Repeat("l", 200)} {
		folder := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		openAt(t, filepath.Join(folder, "berth.db"), tabletest.NewClock())
		entries, err := os.ReadDir(folder)
		if err != nil || len(entries) == 0 {
			t.Errorf("folder %q holds %d files, %v; want the table's", name, len(entries), err)
		}
	}
}

func TestAFileThatCannotBeUsedIsExplained(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		make func(path string) error
		want string
	}{
		{"a folder that is not there", func(path string) error { return os.Remove(filepath.Dir(path)) }, "Make the folder"},
		{"a folder in its place", func(path string) error { return os.Mkdir(path, 0o700) }, "Check that it is a file"},
		{"noise", func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("noise "), 2000), 0o600) }, "restore the file"},
		{"a foreign database", func(path string) error { return execute(path, "CREATE TABLE x (y)") }, "data folder of its own"},
		{"a newer layout", func(path string) error {
			return execute(path, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 99", 0x62727468))
		}, "Start that version again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "data", "berth.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.make(path); err != nil {
				t.Fatal(err)
			}
			_, err := sqlite.Open(t.Context(), path, tabletest.NewClock())
			wantRemedy(t, err, test.want)
		})
	}
}

func TestADamagedPageIsReportedNotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "berth.db")
	table, err := sqlite.Open(t.Context(), path, tabletest.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 300 {
		if _, err := table.Put(t.Context(), berth.Item{PK: "p", SK: fmt.Sprint(n), Body: bytes.Repeat([]byte("x"), 500)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the log is still there after Close (%v)", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	// All but the first page, which holds the layout.
	_, err = f.WriteAt(bytes.Repeat([]byte{0xA5}, int(info.Size())-4096), 4096)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	damaged := openAt(t, path, tabletest.NewClock())
	_, err = damaged.Get(t.Context(), "p", "7")
	wantRemedy(t, err, "restore the file")
	_, err = damaged.Put(t.Context(), berth.Item{PK: "p", SK: "new"})
	wantRemedy(t, err, "restore the file")
}

func TestAFullFileRefusesAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "berth.db")
	table := openAt(t, path, tabletest.NewClock())
	if _, err := table.Put(t.Context(), berth.Item{PK: "p", SK: "s", Body: []byte("kept")}); err != nil {
		t.Fatal(err)
	}
	sqlite.LimitPages(t, table, 40)
	writes := []berth.Write{{Item: berth.Item{PK: "p", SK: "s", Version: 1, Body: []byte("lost")}}}
	for n := range 5 {
		writes = append(writes, berth.Write{Item: berth.Item{PK: "p", SK: fmt.Sprint(n), Body: bytes.Repeat([]byte("x"), 90_000)}})
	}
	wantRemedy(t, table.Transact(t.Context(), writes), "Free some space")
	item, err := table.Get(t.Context(), "p", "s")
	if err != nil || string(item.Body) != "kept" {
		t.Fatalf("Get after the failure = %q, %v; want what was there", item.Body, err)
	}
	if _, err := table.Put(t.Context(), berth.Item{PK: "p", SK: "small"}); err != nil {
		t.Fatalf("Put of a small item after the failure: %v", err)
	}
}

func TestPurgeRemovesOnlyWhatExpired(t *testing.T) {
	t.Parallel()
	clock := tabletest.NewClock()
	path := filepath.Join(t.TempDir(), "berth.db")
	table := openAt(t, path, clock)
	const expiring = 1203
	for n := range expiring {
		if _, err := table.Put(t.Context(), berth.Item{PK: "p", SK: fmt.Sprint(n), Expires: clock.Now().Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	for sk, expires := range map[string]time.Time{"never": {}, "later": clock.Now().Add(time.Hour)} {
		if _, err := table.Put(t.Context(), berth.Item{PK: "p", SK: sk, Expires: expires}); err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(2 * time.Minute)
	for _, want := range []int{expiring, 0} {
		got, err := table.Purge(t.Context())
		if err != nil || got != want {
			t.Fatalf("Purge = %d, %v; want %d", got, err, want)
		}
	}
	if got := sqlite.CountRows(t, table); got != 2 {
		t.Fatalf("%d rows are left, want 2", got)
	}
}

func wantRemedy(t *testing.T, err error, want string) {
	t.Helper()
	var coded *berth.Error
	if !errors.As(err, &coded) || coded.Code != berth.CodeUnavailable {
		t.Fatalf("error = %v, want unavailable", err)
	}
	if coded.Message == "" || !strings.Contains(coded.Remediation, want) {
		t.Fatalf("error %q says %q, want it to say %q", coded.Message, coded.Remediation, want)
	}
}

func execute(path, statements string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statements)
	_, statErr := os.Stat(path)
	if errors.Is(statErr, fs.ErrNotExist) {
		err = errors.Join(err, statErr)
	}
	return errors.Join(err, db.Close())
}
