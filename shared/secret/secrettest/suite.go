// Package secrettest is the contract of the berth.Secrets port: one suite that
// every adapter passes.
package secrettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/secret"
)

// Run checks every promise of berth.Secrets; open makes an empty store for one
// test and registers its clean-up.
func Run(t *testing.T, open func(t *testing.T) berth.Secrets) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, berth.Secrets)
	}{
		{"a value comes back byte for byte", roundTrip},
		{"a second put replaces the value", replace},
		{"an absent secret is not found and may be deleted", absent},
		{"set, remove, set again works over and over", setRemoveSet},
		{"scopes and names stay apart", apart},
		{"the cap holds to the byte", caps},
		{"bad names are refused", badNames},
		{"values are not shared with the caller", notShared},
		{"no error tells a value", noLeak},
		{"writers of different names at once lose nothing", manyNames},
		{"writers of one name at once leave one of their values", oneName},
		{"a cancelled caller is told so", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func roundTrip(t *testing.T, s berth.Secrets) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, value := range map[string]string{
		"user/TOKEN":                    "a token",
		"user/one":                      "x",
		"user/lines":                    "-----BEGIN-----\nabc\n\n-----END-----\n",
		"user/spaces":                   "  two  spaces, quotes \" ' and $HOME = \t",
		"user/json":                     "{\n  \"a\": 1\n}",
		"user/bytes":                    string(every),
		"user/unicode":                  "pässwörd 日本 😀",
		"provider/host/01hzy-abc.token": "nested",
		"user/ends-with-dash-abc123":    "as the suffix of an ARN does",
	} {
		put(t, s, name, value)
		want(t, s, name, value)
	}
}

func replace(t *testing.T, s berth.Secrets) {
	for _, value := range []string{"first", "second and longer", "3", "3"} {
		put(t, s, "user/A", value)
		want(t, s, "user/A", value)
	}
}

func absent(t *testing.T, s berth.Secrets) {
	wantAbsent(t, s, "user/NOBODY")
	remove(t, s, "user/NOBODY")
	wantAbsent(t, s, "user/NOBODY")
}

func setRemoveSet(t *testing.T, s berth.Secrets) {
	put(t, s, "user/KEPT", "kept")
	for round := range 10 {
		value := fmt.Sprintf("value %d", round)
		put(t, s, "user/LOOP", value)
		want(t, s, "user/LOOP", value)
		remove(t, s, "user/LOOP")
		wantAbsent(t, s, "user/LOOP")
		remove(t, s, "user/LOOP")
	}
	put(t, s, "user/LOOP", "at last")
	want(t, s, "user/LOOP", "at last")
	want(t, s, "user/KEPT", "kept")
}

func apart(t *testing.T, s berth.Secrets) {
	names := []string{"user/A", "user/a", "user/AA", "provider/A", "user/A.B", "user/A-B", "user/A_B"}
	for _, name := range names {
		put(t, s, name, "of "+name)
	}
	for _, name := range names {
		want(t, s, name, "of "+name)
	}
	remove(t, s, "user/A")
	wantAbsent(t, s, "user/A")
	for _, name := range names[1:] {
		want(t, s, name, "of "+name)
	}
}

func caps(t *testing.T, s berth.Secrets) {
	longest := strings.Repeat("\x80", berth.MaxSecretBytes)
	put(t, s, "user/LONG", longest)
	want(t, s, "user/LONG", longest)
	over := berth.NewSecretValue([]byte(longest + "x"))
	wantCode(t, "Put of a byte too many", s.Put(t.Context(), "user/LONG", over), berth.CodeTooLarge)
	wantCode(t, "Put of nothing", s.Put(t.Context(), "user/LONG", berth.SecretValue{}), berth.CodeInvalid)
	want(t, s, "user/LONG", longest)

	name := "user/" + strings.Repeat("N", secret.MaxNameBytes-len("user/"))
	put(t, s, name, "long name")
	want(t, s, name, "long name")
	wantCode(t, "Put with a name too long", s.Put(t.Context(), name+"N", berth.NewSecretValue([]byte("x"))), berth.CodeInvalid)
}

func badNames(t *testing.T, s berth.Secrets) {
	for _, name := range []string{
		"", "A", "user", "user/", "/user/A", "user//A", "user/A/", "other/A", "User/A", "user/..", "user/../provider/A",
		"user/.", "user/a b", "user/*", "user/ä", "user/A\n", "user/A\x00", "user/-A",
	} {
		call := fmt.Sprintf("(%q)", name)
		wantCode(t, "Put"+call, s.Put(t.Context(), name, berth.NewSecretValue([]byte("value"))), berth.CodeInvalid)
		_, err := s.Read(t.Context(), name)
		wantCode(t, "Read"+call, err, berth.CodeInvalid)
		wantCode(t, "Delete"+call, s.Delete(t.Context(), name), berth.CodeInvalid)
	}
}

func notShared(t *testing.T, s berth.Secrets) {
	mine := []byte("original")
	if err := s.Put(t.Context(), "user/A", berth.NewSecretValue(mine)); err != nil {
		t.Fatal(err)
	}
	clear(mine)
	want(t, s, "user/A", "original")
	got, err := s.Read(t.Context(), "user/A")
	if err != nil {
		t.Fatal(err)
	}
	clear(got.Reveal())
	want(t, s, "user/A", "original")
}

func noLeak(t *testing.T, s berth.Secrets) {
	canary := strings.Repeat("CANARY", berth.MaxSecretBytes/6+1)
	value := berth.NewSecretValue([]byte(canary))
	for _, name := range []string{"user/A", "bad name"} {
		err := s.Put(t.Context(), name, value)
		if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "CANARY") {
			t.Fatalf("Put(%q) of a value that is too long = %.200v, want an error without the value", name, err)
		}
	}
}

func manyNames(t *testing.T, s berth.Secrets) {
	const writers = 12
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			name := fmt.Sprintf("user/W%d", w)
			errs[w] = s.Put(t.Context(), name, berth.NewSecretValue([]byte(name)))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for w := range errs {
		name := fmt.Sprintf("user/W%d", w)
		want(t, s, name, name)
	}
}

func oneName(t *testing.T, s berth.Secrets) {
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			errs[w] = s.Put(t.Context(), "user/RACE", berth.NewSecretValue(bytes.Repeat([]byte{byte('a' + w)}, 1000)))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	got, err := s.Read(t.Context(), "user/RACE")
	if err != nil {
		t.Fatal(err)
	}
	if b := got.Reveal(); len(b) != 1000 || bytes.Count(b, b[:1]) != 1000 {
		t.Fatalf("the value is a mixture of %d bytes", len(b))
	}
}

func cancelled(t *testing.T, s berth.Secrets) {
	put(t, s, "user/A", "before")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, "Put", s.Put(ctx, "user/A", berth.NewSecretValue([]byte("after"))), berth.CodeUnavailable)
	_, err := s.Read(ctx, "user/A")
	wantCode(t, "Read", err, berth.CodeUnavailable)
	wantCode(t, "Delete", s.Delete(ctx, "user/A"), berth.CodeUnavailable)
	want(t, s, "user/A", "before")
}
