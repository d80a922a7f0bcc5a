package sqlite

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// claimFile makes the file before SQLite does, so that it and the log beside it
// are never readable to others, not even for a moment.
func claimFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		// A file from elsewhere may have a wider mode.
		err = errors.Join(f.Chmod(0o600), f.Close())
	}
	if err == nil {
		return nil
	}
	e := berth.Errorf(berth.CodeUnavailable, "the table file %s cannot be opened for writing", path)
	e.Cause = err
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Remediation = "Make the folder " + filepath.Dir(path) + " first."
	case errors.Is(err, fs.ErrPermission):
		e.Remediation = "Give the user that runs berth the right to write it."
	default:
		e.Remediation = "Check that it is a file, on a disk that is mounted, writable and not full."
	}
	return e
}

// dataSource names the file to the driver. Its settings hold for each
// connection that is opened.
func dataSource(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	name := url.URL{Scheme: "file", Path: slashed}
	// %3F and alike are decoded by SQLite itself.
	return name.String() + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(NORMAL)&_pragma=journal_size_limit(67108864)" +
		"&_pragma=wal_autocheckpoint(1000)&_pragma=cache_size(-8192)"
}
