package sqlite

import (
	"database/sql"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/table"
)

// values are the columns of an item beside its key, as they are scanned.
type values struct {
	version, expires                       int64
	index1PK, index1SK, index2PK, index2SK sql.NullString
	projected                              string
	body                                   []byte
}

// item gives the item that the values describe.
func (v *values) item(pk, sk string) berth.Item {
	return berth.Item{
		PK:        pk,
		SK:        sk,
		Version:   v.version,
		Expires:   table.ExpiryTime(v.expires),
		Index1:    berth.IndexKey{PK: v.index1PK.String, SK: v.index1SK.String},
		Index2:    berth.IndexKey{PK: v.index2PK.String, SK: v.index2SK.String},
		Projected: v.projected,
		Body:      v.body,
	}
}

// scanRow reads one row of a query, and its sort key in the queried index.
func scanRow(q berth.Query, rows *sql.Rows) (item berth.Item, indexSK string, err error) {
	var pk, sk string
	var v values
	if q.Index > 0 {
		if err := rows.Scan(&pk, &sk, &indexSK, &v.projected); err != nil {
			return item, "", err
		}
		item = v.item(pk, sk)
		key := berth.IndexKey{PK: q.PK, SK: indexSK}
		if q.Index == 1 {
			item.Index1 = key
		} else {
			item.Index2 = key
		}
		return item, indexSK, nil
	}
	if err := rows.Scan(&pk, &sk, &indexSK, &v.projected, &v.version, &v.expires,
		&v.index1PK, &v.index1SK, &v.index2PK, &v.index2SK, &v.body); err != nil {
		return item, "", err
	}
	return v.item(pk, sk), indexSK, nil
}

// nullable keeps items out of the sparse indexes.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
