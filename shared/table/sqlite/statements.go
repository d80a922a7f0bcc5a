package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// statements are prepared on the writing connection. An expired item counts as
// absent in every one of them.
type statements struct {
	begin, commit, rollback      *sql.Stmt
	create, replace, remove      *sql.Stmt
	check, exists, removeExpired *sql.Stmt
	purge                        *sql.Stmt

	all []*sql.Stmt
}

func (s *statements) prepare(ctx context.Context, conn *sql.Conn) error {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.begin, "BEGIN IMMEDIATE"},
		{&s.commit, "COMMIT"},
		{&s.rollback, "ROLLBACK"},
		{&s.create, `INSERT INTO items (version, expires, index1_pk, index1_sk, index2_pk, index2_sk, projected, body, pk, sk)
			VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
			ON CONFLICT (pk, sk) DO UPDATE SET version = 1, expires = excluded.expires,
				index1_pk = excluded.index1_pk, index1_sk = excluded.index1_sk,
				index2_pk = excluded.index2_pk, index2_sk = excluded.index2_sk,
				projected = excluded.projected, body = excluded.body
			WHERE items.expires > 0 AND items.expires <= ?10`},
		{&s.replace, `UPDATE items SET version = version + 1, expires = ?1, index1_pk = ?2, index1_sk = ?3,
				index2_pk = ?4, index2_sk = ?5, projected = ?6, body = ?7
			WHERE pk = ?8 AND sk = ?9 AND version = ?10 AND (expires = 0 OR expires > ?11)`},
		{&s.remove, "DELETE FROM items WHERE pk = ? AND sk = ? AND version = ? AND (expires = 0 OR expires > ?)"},
		{&s.check, "SELECT 1 FROM items WHERE pk = ? AND sk = ? AND version = ? AND (expires = 0 OR expires > ?)"},
		{&s.exists, "SELECT 1 FROM items WHERE pk = ? AND sk = ? AND (expires = 0 OR expires > ?)"},
		{&s.removeExpired, "DELETE FROM items WHERE pk = ? AND sk = ? AND expires > 0 AND expires <= ?"},
		{&s.purge, `DELETE FROM items WHERE rowid IN
			(SELECT rowid FROM items WHERE expires > 0 AND expires <= ? LIMIT ?)`},
	} {
		var err error
		if *p.to, err = conn.PrepareContext(ctx, p.text); err != nil {
			return fmt.Errorf("preparing a write: %w", err)
		}
		s.all = append(s.all, *p.to)
	}
	return nil
}

// close ends the statements. SQLite writes its log back only when a connection
// closes with no statement left.
func (s *statements) close() error {
	var errs []error
	for _, statement := range s.all {
		errs = append(errs, statement.Close())
	}
	return errors.Join(errs...)
}
