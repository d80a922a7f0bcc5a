package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func BenchmarkGet(b *testing.B) {
	path, table := benchTable(b)
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			if _, err := table.Get(b.Context(), "env", "7"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bare driver", func(b *testing.B) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		get, err := db.Prepare("SELECT body FROM items WHERE pk = ? AND sk = ?")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			var body []byte
			if err := get.QueryRow("env", "7").Scan(&body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkPut(b *testing.B) {
	_, table := benchTable(b)
	item := berth.Item{PK: "p", SK: "s", Body: bytes.Repeat([]byte("x"), 500)}
	for b.Loop() {
		version, err := table.Put(b.Context(), item)
		if err != nil {
			b.Fatal(err)
		}
		item.Version = version
	}
}

func BenchmarkTransactOfThree(b *testing.B) {
	_, table := benchTable(b)
	n := int64(0)
	for b.Loop() {
		err := table.Transact(b.Context(), []berth.Write{
			{Item: berth.Item{PK: "run", SK: fmt.Sprintf("event#%09d", n), Body: bytes.Repeat([]byte("x"), 500)}},
			{Item: berth.Item{PK: "run", SK: "head", Version: n}},
			{Item: berth.Item{PK: "run", SK: "stage", Version: n}},
		})
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func benchTable(b *testing.B) (string, berth.Table) {
	path := filepath.Join(b.TempDir(), "berth.db")
	table := openAt(b, path, berth.SystemClock{})
	for n := range 100 {
		item := berth.Item{PK: "env", SK: fmt.Sprint(n), Body: bytes.Repeat([]byte("x"), 600)}
		if _, err := table.Put(b.Context(), item); err != nil {
			b.Fatal(err)
		}
	}
	return path, table
}
