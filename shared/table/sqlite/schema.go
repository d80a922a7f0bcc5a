package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/berth-dev/berth/shared/berth"
)

// The mark of our files: "brth", and the version of the layout.
const (
	applicationID = 0x62727468
	schemaVersion = 1
)

// The indexes hold all that a query of them answers. Rows outside of an index
// have NULL there, so it stays sparse. Expiries are whole seconds, 0 is never.
const schema = `
CREATE TABLE items (
	pk        TEXT    NOT NULL,
	sk        TEXT    NOT NULL,
	version   INTEGER NOT NULL,
	expires   INTEGER NOT NULL,
	index1_pk TEXT,
	index1_sk TEXT,
	index2_pk TEXT,
	index2_sk TEXT,
	projected TEXT    NOT NULL,
	body      BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX items_key ON items (pk, sk);
CREATE INDEX items_index1 ON items (index1_pk, index1_sk, pk, sk, projected, expires) WHERE index1_pk IS NOT NULL;
CREATE INDEX items_index2 ON items (index2_pk, index2_sk, pk, sk, projected, expires) WHERE index2_pk IS NOT NULL;
CREATE INDEX items_expires ON items (expires) WHERE expires > 0;
`

// prepareSchema lays out an empty file, and refuses one that is not ours or
// that a newer berth has made.
func prepareSchema(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("locking the file: %w", err)
	}
	if err := createSchema(ctx, conn); err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return err
	}
	_, err := conn.ExecContext(ctx, "COMMIT")
	return err
}

func createSchema(ctx context.Context, conn *sql.Conn) error {
	var id, version, objects int
	for query, to := range map[string]*int{
		"PRAGMA application_id":              &id,
		"PRAGMA user_version":                &version,
		"SELECT count(*) FROM sqlite_schema": &objects,
	} {
		if err := conn.QueryRowContext(ctx, query).Scan(to); err != nil {
			return fmt.Errorf("reading the layout of the file: %w", err)
		}
	}
	switch {
	case id == applicationID && version == schemaVersion:
		return nil
	case id == applicationID && version > schemaVersion:
		e := berth.Errorf(berth.CodeUnavailable, "the table file was made by a newer berth (layout %d)", version)
		e.Remediation = "Start that version again, or another data folder."
		return e
	case objects > 0 || id != 0:
		e := berth.Errorf(berth.CodeUnavailable, "the table file is a SQLite file of another program")
		e.Remediation = "Give berth a data folder of its own."
		return e
	}
	layout := fmt.Sprintf("%sPRAGMA application_id = %d; PRAGMA user_version = %d;", schema, applicationID, schemaVersion)
	if _, err := conn.ExecContext(ctx, layout); err != nil {
		return fmt.Errorf("laying out the file: %w", err)
	}
	return nil
}
