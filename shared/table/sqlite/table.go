// Package sqlite keeps the berth table in one SQLite file.
//
// The file is in WAL mode with synchronous=NORMAL: what was written is there
// after the process is killed at any moment. After a power cut the file is
// whole, but the last writes before it may be missing.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
)

// Table is a berth.Table in a file. It may be used by many goroutines at once;
// the file belongs to one process at a time.
type Table struct {
	path  string
	clock berth.Clock

	readers *sql.DB
	get     *sql.Stmt
	queries [indexCount][directionCount]*sql.Stmt

	writerDB *sql.DB
	writer   *sql.Conn
	// turn holds one token: whoever has it uses writer and statements.
	turn       chan struct{}
	statements statements
}

var _ berth.Table = (*Table)(nil)

// readerConnections is enough for the few processors of a host: a read takes
// microseconds.
const readerConnections = 4

// Open opens the table in the file at path, which it makes when there is none,
// with mode 0600; the folder must exist. The caller closes the table. It
// returns unavailable with a remediation when the file cannot be used.
func Open(ctx context.Context, path string, clock berth.Clock) (*Table, error) {
	if err := claimFile(path); err != nil {
		return nil, err
	}
	t := &Table{path: path, clock: clock, turn: make(chan struct{}, 1)}
	if err := t.open(ctx); err != nil {
		return nil, errors.Join(t.explain("opening the table", err), t.Close())
	}
	t.turn <- struct{}{}
	return t, nil
}

func (t *Table) open(ctx context.Context) error {
	var err error
	if t.writerDB, err = sql.Open("sqlite", dataSource(t.path)); err != nil {
		return err
	}
	t.writerDB.SetMaxOpenConns(1)
	if t.writer, err = t.writerDB.Conn(ctx); err != nil {
		return err
	}
	if err := prepareSchema(ctx, t.writer); err != nil {
		return err
	}
	if err := t.statements.prepare(ctx, t.writer); err != nil {
		return err
	}
	if t.readers, err = sql.Open("sqlite", dataSource(t.path)+"&_pragma=query_only(1)"); err != nil {
		return err
	}
	t.readers.SetMaxOpenConns(readerConnections)
	t.readers.SetMaxIdleConns(readerConnections)
	return t.prepareReads(ctx)
}

func (t *Table) prepareReads(ctx context.Context) error {
	var err error
	if t.get, err = t.readers.PrepareContext(ctx, getSQL); err != nil {
		return fmt.Errorf("preparing a read: %w", err)
	}
	for index := range t.queries {
		for direction := range t.queries[index] {
			text := querySQL(index, direction == descending)
			if t.queries[index][direction], err = t.readers.PrepareContext(ctx, text); err != nil {
				return fmt.Errorf("preparing a query: %w", err)
			}
		}
	}
	return nil
}

// Close writes the log back into the file and releases it. No other call may
// be under way.
func (t *Table) Close() error {
	var errs []error
	if t.readers != nil {
		errs = append(errs, t.readers.Close())
	}
	errs = append(errs, t.statements.close())
	if t.writer != nil {
		errs = append(errs, t.writer.Close())
	}
	if t.writerDB != nil {
		errs = append(errs, t.writerDB.Close())
	}
	return errors.Join(errs...)
}
