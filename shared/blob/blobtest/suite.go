// Package blobtest is the contract of the berth.Blobs port: one suite that
// every adapter passes.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/berth-dev/berth/shared/berth"
)

// Run checks every promise of berth.Blobs; open makes an empty store for one
// test and registers its clean-up.
func Run(t *testing.T, open func(t *testing.T) berth.Blobs) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, berth.Blobs)
	}{
		{"a blob comes back byte for byte", roundTrip},
		{"a range is read from an offset", ranges},
		{"an absent blob is not found", absent},
		{"a second put replaces the whole", replace},
		{"a key may be the beginning of another", nested},
		{"a put of another size changes nothing", wrongSize},
		{"a reader that fails changes nothing", failingReader},
		{"bad keys are refused", badKeys},
		{"a prefix is removed and no more", deletePrefix},
		{"bad prefixes are refused", badPrefixes},
		{"many writers of one key leave one of them whole", manyWriters},
		{"puts and removals at once do not fail each other", putsAndRemovals},
		{"a cancelled caller is told so", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func roundTrip(t *testing.T, b berth.Blobs) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for key, content := range map[string]string{
		"empty":                  "",
		"text":                   "no newline at the end",
		"run/01/out/0-1048576.x": strings.Repeat(string(every), 8192),
		"a/b/c/d/e/f":            "deep",
		".hidden/..double/-_.Z9": "odd parts",
	} {
		put(t, b, key, content)
		want(t, b, key, content)
	}
	slow := iotest.OneByteReader(strings.NewReader("slowly"))
	if err := b.Put(t.Context(), "slow", slow, 6); err != nil {
		t.Fatal(err)
	}
	want(t, b, "slow", "slowly")
}

func ranges(t *testing.T, b berth.Blobs) {
	put(t, b, "k", "0123456789")
	for _, test := range []struct {
		offset, length int64
		want           string
	}{
		{0, -1, "0123456789"},
		{0, 3, "012"},
		{4, 3, "456"},
		{9, 1, "9"},
		{7, 100, "789"},
		{7, -1, "789"},
		{5, 0, ""},
		{10, -1, ""},
		{10, 5, ""},
		{1000, 5, ""},
	} {
		if got := read(t, b, "k", test.offset, test.length); string(got) != test.want {
			t.Errorf("Open(%d, %d) gives %q, want %q", test.offset, test.length, got, test.want)
		}
	}
	_, err := b.Open(t.Context(), "k", -1, 1)
	wantCode(t, "Open at offset -1", err, berth.CodeInvalid)
}

func absent(t *testing.T, b berth.Blobs) {
	wantAbsent(t, b, "nothing")
	put(t, b, "folder/blob", "x")
	wantAbsent(t, b, "folder")
	wantAbsent(t, b, "folder/blo")
	wantAbsent(t, b, "folder/blob/deeper")
}

func replace(t *testing.T, b berth.Blobs) {
	put(t, b, "k", "a long first content")
	r, err := b.Open(t.Context(), "k", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, "k", "short")
	want(t, b, "k", "short")
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if s := string(got); s != "a long first content" && s != "short" {
		t.Fatalf("a reader from before sees %q, a mixture", s)
	}
}

func nested(t *testing.T, b berth.Blobs) {
	put(t, b, "a/b", "inner")
	put(t, b, "a", "outer")
	put(t, b, "a/b/c", "innermost")
	want(t, b, "a", "outer")
	want(t, b, "a/b", "inner")
	want(t, b, "a/b/c", "innermost")
}

func wrongSize(t *testing.T, b berth.Blobs) {
	put(t, b, "k", "before")
	for _, size := range []int64{0, 4, 6, 1000, -1} {
		err := b.Put(t.Context(), "k", strings.NewReader("after"), size)
		wantCode(t, fmt.Sprintf("Put of 5 bytes announced as %d", size), err, berth.CodeInvalid)
		want(t, b, "k", "before")
	}
}

func failingReader(t *testing.T, b berth.Blobs) {
	put(t, b, "k", "before")
	cause := errors.New("the source broke")
	r := io.MultiReader(strings.NewReader("aft"), iotest.ErrReader(cause))
	if err := b.Put(t.Context(), "k", r, 5); !errors.Is(err, cause) {
		t.Fatalf("Put from a reader that fails = %v, want its error", err)
	}
	want(t, b, "k", "before")
}

func manyWriters(t *testing.T, b berth.Blobs) {
	const writers, size = 20, 100_000
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			content := bytes.Repeat([]byte{byte('a' + w)}, size)
			errs[w] = b.Put(t.Context(), "one/key", bytes.NewReader(content), size)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	got := read(t, b, "one/key", 0, -1)
	if len(got) != size || bytes.Count(got, got[:1]) != size {
		t.Fatalf("%d bytes, of which %d are like the first; want %d of one writer", len(got), bytes.Count(got, got[:1]), size)
	}
}

func putsAndRemovals(t *testing.T, b berth.Blobs) {
	const rounds = 50
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for range rounds {
				err := b.Put(t.Context(), fmt.Sprintf("busy/%d/blob", w), strings.NewReader("x"), 1)
				if err == nil {
					err = b.DeletePrefix(t.Context(), fmt.Sprintf("busy/%d", w))
				}
				if err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for w := range errs {
		wantAbsent(t, b, fmt.Sprintf("busy/%d/blob", w))
	}
}

func cancelled(t *testing.T, b berth.Blobs) {
	put(t, b, "k", "before")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, "Put", b.Put(ctx, "k", strings.NewReader("after"), 5), berth.CodeUnavailable)
	_, err := b.Open(ctx, "k", 0, -1)
	wantCode(t, "Open", err, berth.CodeUnavailable)
	wantCode(t, "DeletePrefix", b.DeletePrefix(ctx, "k"), berth.CodeUnavailable)
	want(t, b, "k", "before")
}
