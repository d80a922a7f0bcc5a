package records_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestKeysAreListedInTheOrderOfTheirCreationPageAfterPage(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	var want []berth.KeyID
	for i := range 7 {
		key := berth.Key{ID: berth.KeyID(f.IDs.NewID()), Name: "k", Scopes: []berth.Scope{berth.ScopeRead}}
		if err := f.CreateKey(t.Context(), key, fmt.Sprintf("hash-%d", 9-i)); err != nil {
			t.Fatal(err)
		}
		want = append(want, key.ID)
		f.clock.Advance(time.Millisecond)
	}
	var got []berth.KeyID
	for cursor, pages := "", 0; pages < 10; pages++ {
		page, next, err := f.ListKeys(t.Context(), 3, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range page {
			got = append(got, k.ID)
		}
		if cursor = next; next == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

func TestAKeyIsFoundByTheBeginningOfItsIDWhenItIsAlone(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	for i, id := range []berth.KeyID{"01kjm8e40000000000000000aa", "01kjm8e40000000000000000ab", "01kjm8e5000000000000000000"} {
		if err := f.CreateKey(t.Context(), berth.Key{ID: id}, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := f.ResolveKey(t.Context(), "01KJM8E5"); err != nil || id != "01kjm8e5000000000000000000" {
		t.Errorf("ResolveKey() = %s, %v", id, err)
	}
	for prefix, want := range map[string]berth.Code{"01kjm8e4": berth.CodeConflict, "01kjm8e6": berth.CodeNotFound, "01kjm": berth.CodeInvalid, "": berth.CodeInvalid} {
		_, err := f.ResolveKey(t.Context(), prefix)
		wantCode(t, "ResolveKey "+prefix, err, want)
	}
}

func TestAKeyIsMadeWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	if err := f.CreateKey(t.Context(), berth.Key{ID: "01kjm8e40000000000000000aa"}, "hash"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the same id", f.CreateKey(t.Context(), berth.Key{ID: "01kjm8e40000000000000000aa"}, "other"), berth.CodeConflict)
	wantCode(t, "the same hash", f.CreateKey(t.Context(), berth.Key{ID: "01kjm8e40000000000000000ab"}, "hash"), berth.CodeConflict)
	_, err := f.FindKeyByHash(t.Context(), "other")
	wantCode(t, "FindKeyByHash", err, berth.CodeNotFound)
	_, err = f.FindKey(t.Context(), "01kjm8e40000000000000000ab")
	wantCode(t, "FindKey", err, berth.CodeNotFound)
}

func TestTheUseOfAKeyMovesBothOfItsItems(t *testing.T) {
	t.Parallel()
	f := newStore(t)
	end := f.clock.Now().Add(time.Hour)
	if err := f.CreateKey(t.Context(), berth.Key{ID: "01kjm8e40000000000000000aa", ExpiresAt: &end}, "hash"); err != nil {
		t.Fatal(err)
	}
	k, err := f.FindKeyByHash(t.Context(), "hash")
	if err != nil {
		t.Fatal(err)
	}
	at := f.clock.Now()
	if err := f.UseKey(t.Context(), k, at); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a use of what has changed", f.UseKey(t.Context(), k, at.Add(time.Second)), berth.CodeStale)
	byID, err := f.FindKey(t.Context(), k.ID)
	if err != nil || byID.LastUsedAt == nil || !byID.LastUsedAt.Equal(at) {
		t.Errorf("by id %+v, %v", byID, err)
	}
	byHash, err := f.FindKeyByHash(t.Context(), "hash")
	if diff := cmp.Diff(byID, byHash.Key); err != nil || diff != "" {
		t.Errorf("by hash (-id +hash):\n%s%v", diff, err)
	}
	// It goes by itself, long after it has expired.
	f.clock.Advance(31 * day)
	_, err = f.FindKeyByHash(t.Context(), "hash")
	wantCode(t, "FindKeyByHash, later", err, berth.CodeNotFound)
}
