//go:build linux

package hostagent_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/hostagent"
)

func TestOnlyARecordThatIsNotWholeIsTorn(t *testing.T) {
	t.Parallel()
	type record struct {
		PID int `json:"pid"`
	}
	dir := t.TempDir()
	if err := hostagent.ReadRecord(dir, &record{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadRecord of none = %v", err)
	}
	for text, torn := range map[string]bool{
		"": true, "\x00\x00": true, `{"pid":1`: true, `{"pid":1}{`: true,
		`{"pid":{"of":"a later version"}}`: false,
	} {
		if err := os.WriteFile(filepath.Join(dir, "meta.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := hostagent.ReadRecord(dir, &record{}); err == nil || errors.Is(err, hostagent.ErrTorn) != torn {
			t.Errorf("ReadRecord of %q = %v; torn is to be %t", text, err, torn)
		}
	}
	if err := hostagent.WriteRecord(dir, record{7}); err != nil {
		t.Fatal(err)
	}
	var got record
	if err := hostagent.ReadRecord(dir, &got); err != nil || got.PID != 7 {
		t.Errorf("ReadRecord of what WriteRecord wrote = %+v, %v", got, err)
	}
}
