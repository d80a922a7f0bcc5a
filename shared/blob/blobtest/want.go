package blobtest

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func put(t *testing.T, b berth.Blobs, key, content string) {
	t.Helper()
	if err := b.Put(t.Context(), key, strings.NewReader(content), int64(len(content))); err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
}

func read(t *testing.T, b berth.Blobs, key string, offset, length int64) []byte {
	t.Helper()
	r, err := b.Open(t.Context(), key, offset, length)
	if err != nil {
		t.Fatalf("Open(%q, %d, %d): %v", key, offset, length, err)
	}
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatalf("reading %q: %v", key, err)
	}
	return got
}

func want(t *testing.T, b berth.Blobs, key, content string) {
	t.Helper()
	if got := read(t, b, key, 0, -1); string(got) != content {
		t.Fatalf("%q holds %d bytes %.40q, want %d bytes %.40q", key, len(got), got, len(content), content)
	}
	size, err := b.Size(t.Context(), key)
	if err != nil || size != int64(len(content)) {
		t.Fatalf("Size(%q) = %d, %v; want %d", key, size, err, len(content))
	}
}

func wantAbsent(t *testing.T, b berth.Blobs, key string) {
	t.Helper()
	_, err := b.Size(t.Context(), key)
	wantCode(t, "Size("+key+")", err, berth.CodeNotFound)
	_, err = b.Open(t.Context(), key, 0, -1)
	wantCode(t, "Open("+key+")", err, berth.CodeNotFound)
}

func wantCode(t *testing.T, call string, err error, code berth.Code) {
	t.Helper()
	var coded *berth.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Fatalf("%s = %v, want code %s", call, err, code)
	}
}
