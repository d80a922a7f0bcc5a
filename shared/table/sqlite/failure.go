package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// explain turns what SQLite reports into an unavailable error that says what to
// do; errors with a code pass.
func (t *Table) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	var coded *berth.Error
	if errors.As(err, &coded) {
		return berth.Wrap(err, doing)
	}
	e := berth.Errorf(berth.CodeUnavailable, "the table cannot be used")
	e.Cause = err
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		e.Message = "the caller did not wait for the table"
		return berth.Wrap(e, doing)
	}
	var native *driver.Error
	if errors.As(err, &native) {
		if remedy, ok := remedyFor(native.Code()); ok {
			e.Message = fmt.Sprintf(remedy.message, t.path)
			e.Remediation = remedy.remediation
		}
	}
	return berth.Wrap(e, doing)
}

type remedy struct{ message, remediation string }

func remedyFor(code int) (remedy, bool) {
	if code == sqlite3.SQLITE_IOERR_SHMSIZE {
		code = sqlite3.SQLITE_FULL // the file beside the table's cannot grow
	}
	switch code & 0xff { // the rest is detail
	case sqlite3.SQLITE_FULL:
		return remedy{"the disk of the table file %s is full", "Free some space; nothing was changed."}, true
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return remedy{
			"the table file %s is damaged",
			"Stop berth and restore the file from a backup, or move it away to begin with an empty table.",
		}, true
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return remedy{
			"the table file %s is locked by another process",
			"Stop the other program that has it open, such as a second server or a SQLite shell.",
		}, true
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return remedy{"the table file %s cannot be written", "Give the user that runs berth the right to write it and its folder."}, true
	case sqlite3.SQLITE_CANTOPEN:
		return remedy{"the table file %s cannot be opened", "Check that its folder is there and may be written."}, true
	case sqlite3.SQLITE_IOERR:
		return remedy{"the disk of the table file %s reports an error", "Check the disk's health and free space."}, true
	}
	return remedy{}, false
}
