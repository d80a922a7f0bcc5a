package secrettest

import (
	"errors"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func put(t *testing.T, s berth.Secrets, name, value string) {
	t.Helper()
	if err := s.Put(t.Context(), name, berth.NewSecretValue([]byte(value))); err != nil {
		t.Fatalf("Put(%q): %v", name, err)
	}
}

func want(t *testing.T, s berth.Secrets, name, value string) {
	t.Helper()
	got, err := s.Read(t.Context(), name)
	if err != nil {
		t.Fatalf("Read(%q): %v", name, err)
	}
	if string(got.Reveal()) != value {
		t.Fatalf("Read(%q) = %d bytes %.40q, want %d bytes %.40q", name, got.Len(), got.Reveal(), len(value), value)
	}
}

func remove(t *testing.T, s berth.Secrets, name string) {
	t.Helper()
	if err := s.Delete(t.Context(), name); err != nil {
		t.Fatalf("Delete(%q): %v", name, err)
	}
}

func wantAbsent(t *testing.T, s berth.Secrets, name string) {
	t.Helper()
	_, err := s.Read(t.Context(), name)
	wantCode(t, "Read("+name+")", err, berth.CodeNotFound)
}

func wantCode(t *testing.T, call string, err error, code berth.Code) {
	t.Helper()
	var coded *berth.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("%s = %v, want code %s", call, err, code)
	}
}
