package tabletest

import (
	"errors"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// failer is a test or a property of rapid.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func item(pk, sk, body string) berth.Item {
	return berth.Item{PK: pk, SK: sk, Body: []byte(body)}
}

func at(i berth.Item, version int64) berth.Item {
	i.Version = version
	return i
}

func (e *env) mustPut(t *testing.T, i berth.Item) int64 {
	t.Helper()
	version, err := e.Put(t.Context(), i)
	if err != nil {
		t.Fatalf("Put(%q, %q, version %d): %v", i.PK, i.SK, i.Version, err)
	}
	return version
}

func (e *env) wantItem(t *testing.T, want berth.Item) {
	t.Helper()
	got, err := e.Get(t.Context(), want.PK, want.SK)
	if err != nil {
		t.Fatalf("Get(%q, %q): %v", want.PK, want.SK, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("Get(%q, %q), want (-) got (+):\n%s", want.PK, want.SK, diff)
	}
}

func (e *env) wantAbsent(t *testing.T, pk, sk string) {
	t.Helper()
	_, err := e.Get(t.Context(), pk, sk)
	wantCode(t, "Get("+pk+", "+sk+")", err, berth.CodeNotFound)
}

// wantCode checks that err is an error of the domain with this code.
func wantCode(t failer, call string, err error, want berth.Code) {
	t.Helper()
	var coded *berth.Error
	if !errors.As(err, &coded) {
		t.Fatalf("%s = %v, want an error with code %s", call, err, want)
	}
	if coded.Code != want {
		t.Fatalf("%s = %v (code %s), want code %s", call, err, coded.Code, want)
	}
	if coded.Message == "" {
		t.Fatalf("%s: the error has no message", call)
	}
}
