package access_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/ids"
	"github.com/berth-dev/berth/shared/records"
	"github.com/berth-dev/berth/shared/runner/runnertest"
	"github.com/berth-dev/berth/shared/table/sqlite"
)

const serverToken = "the-server's-own"

// meteredTable counts what goes to the table, and fails on request.
type meteredTable struct {
	berth.Table
	mu           sync.Mutex // guards what follows
	gets, writes int
	failGet      error
	failWrite    error
	beforeWrite  func()
}

func (m *meteredTable) Get(ctx context.Context, pk, sk string) (berth.Item, error) {
	m.mu.Lock()
	m.gets++
	err := m.failGet
	m.mu.Unlock()
	if err != nil {
		return berth.Item{}, err
	}
	return m.Table.Get(ctx, pk, sk)
}

func (m *meteredTable) Transact(ctx context.Context, writes []berth.Write) error {
	m.mu.Lock()
	m.writes++
	err, before := m.failWrite, m.beforeWrite
	m.beforeWrite = nil
	m.mu.Unlock()
	if before != nil {
		before()
	}
	if err != nil {
		return err
	}
	return m.Table.Transact(ctx, writes)
}

func (m *meteredTable) reset() (gets, writes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gets, writes = m.gets, m.writes
	m.gets, m.writes = 0, 0
	return gets, writes
}

type fixture struct {
	t     *testing.T
	clock *runnertest.ManualClock
	table *meteredTable
	store *records.Store
	keys  access.Keys
	auth  *access.Authenticator
	log   bytes.Buffer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: runnertest.NewManualClock()}
	table, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "berth.db"), f.clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	f.table = &meteredTable{Table: table}
	f.store = &records.Store{Table: f.table, Clock: f.clock, IDs: ids.New(f.clock)}
	f.keys = access.Keys{Records: f.store, Clock: f.clock, IDs: f.store.IDs, Random: rand.Reader}
	f.auth = f.process()
	return f
}

// process is the authenticator of another process on the same table.
func (f *fixture) process() *access.Authenticator {
	return access.NewAuthenticator(access.Config{
		Records: f.store, Clock: f.clock, Token: serverToken, Logger: slog.New(slog.NewJSONHandler(&f.log, nil)),
	})
}

func (f *fixture) issue(grant berth.Key) (berth.Key, string) {
	f.t.Helper()
	key, value, err := f.keys.Issue(f.t.Context(), grant)
	if err != nil {
		f.t.Fatal(err)
	}
	return key, string(value.Reveal())
}

func (f *fixture) used(id berth.KeyID) time.Time {
	f.t.Helper()
	key, err := f.store.FindKey(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	if key.LastUsedAt == nil {
		return time.Time{}
	}
	return *key.LastUsedAt
}

func (f *fixture) wantCode(token string, want berth.Code) {
	f.t.Helper()
	if _, err := f.auth.Authenticate(f.t.Context(), token); berth.CodeOf(err) != want {
		f.t.Errorf("Authenticate() = %v, want %q", err, want)
	}
}

func TestAKeyStandsForItsNameScopesAndHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, value := f.issue(berth.Key{Name: "agent", Scopes: []berth.Scope{berth.ScopeHost}, Host: "host-1", CreatedBy: "join"})
	who, err := f.auth.Authenticate(t.Context(), value)
	want := berth.Principal{Name: "agent", Scopes: []berth.Scope{berth.ScopeHost}, Host: "host-1", Key: key.ID}
	if diff := cmp.Diff(want, who); err != nil || diff != "" {
		t.Errorf("Authenticate() (-want +got):\n%s%v", diff, err)
	}
	who, err = f.auth.Authenticate(t.Context(), serverToken)
	want = berth.Principal{Name: "local", Scopes: []berth.Scope{berth.ScopeRead, berth.ScopeRun, berth.ScopeAdmin}}
	if diff := cmp.Diff(want, who); err != nil || diff != "" {
		t.Errorf("the server's own token (-want +got):\n%s%v", diff, err)
	}
}

func TestTheServersOwnTokenAndWhatIsNoKeyCostNoRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wantCode(serverToken, "")
	f.wantCode("x", berth.CodeUnauthenticated)
	f.wantCode("", berth.CodeUnauthenticated)
	if gets, writes := f.table.reset(); gets+writes != 0 {
		t.Errorf("%d reads and %d writes", gets, writes)
	}
}

func TestWithoutATokenOfItsOwnNoTokenIsTheServers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.auth = access.NewAuthenticator(access.Config{Records: f.store, Clock: f.clock})
	f.wantCode("", berth.CodeUnauthenticated)
	f.wantCode(serverToken, berth.CodeUnauthenticated)
	_, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	f.wantCode(value, "")
}

func TestAKeyCountsBeforeItsEndAndNotAtIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	end := f.clock.Now().Add(time.Hour)
	_, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes, ExpiresAt: &end})
	f.clock.Advance(time.Hour - 1)
	f.wantCode(value, "")
	f.clock.Advance(1)
	f.wantCode(value, berth.CodeUnauthenticated)
}

func TestARemovedKeyCountsNoMore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	other, kept := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	f.wantCode(value, "")
	if err := f.store.DeleteKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	f.wantCode(value, berth.CodeUnauthenticated)
	f.wantCode(kept, "")
	if err := f.store.DeleteKey(t.Context(), key.ID); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("removed twice: %v", err)
	}
	if list, _, err := f.store.ListKeys(t.Context(), 10, ""); err != nil || len(list) != 1 || list[0].ID != other.ID {
		t.Errorf("left %v, %v", list, err)
	}
	// Neither of the two items is left.
	for _, pk := range []string{"key", "keyhash"} {
		page, err := f.table.Query(t.Context(), berth.Query{PK: pk, Limit: 10})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("%s holds %d items, %v", pk, len(page.Items), err)
		}
	}
}

func TestAUseIsRecordedAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	f.table.reset()
	first := f.clock.Now()
	for range 100 {
		f.wantCode(value, "")
	}
	if gets, writes := f.table.reset(); gets != 100 || writes != 1 {
		t.Errorf("100 requests made %d reads and %d writes, want 100 and 1", gets, writes)
	}
	f.clock.Advance(time.Minute - 1)
	f.wantCode(value, "")
	f.auth = f.process() // a second process goes by the record
	f.wantCode(value, "")
	if _, writes := f.table.reset(); writes != 0 || !f.used(key.ID).Equal(first) {
		t.Errorf("within the minute: %d writes, last used %s", writes, f.used(key.ID))
	}
	f.clock.Advance(1)
	f.wantCode(value, "")
	if _, writes := f.table.reset(); writes != 1 || !f.used(key.ID).Equal(f.clock.Now()) {
		t.Errorf("after a minute: %d writes, last used %s", writes, f.used(key.ID))
	}
	// The key by its hash knows of it too, and it can still be removed.
	if err := f.store.DeleteKey(t.Context(), key.ID); err != nil {
		t.Error(err)
	}
}

func TestARequestDoesNotFailForWantOfANote(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	f.table.failWrite = berth.Errorf(berth.CodeUnavailable, "the disk is full")
	f.table.reset()
	for range 10 {
		f.wantCode(value, "")
	}
	if _, writes := f.table.reset(); writes != 1 {
		t.Errorf("%d writes were tried within a minute, want 1", writes)
	}
	if !strings.Contains(f.log.String(), "the disk is full") || strings.Contains(f.log.String(), value[12:]) {
		t.Errorf("the log says %s", f.log.String())
	}
}

func TestANoteDoesNotBringARemovedKeyBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	f.table.beforeWrite = func() { // between the read of the key and the note of its use
		if err := f.store.DeleteKey(t.Context(), key.ID); err != nil {
			t.Error(err)
		}
	}
	f.wantCode(value, "") // it was there when the request came
	f.wantCode(value, berth.CodeUnauthenticated)
	if _, err := f.store.FindKey(t.Context(), key.ID); berth.CodeOf(err) != berth.CodeNotFound {
		t.Errorf("FindKey() = %v", err)
	}
	if f.log.Len() > 0 {
		t.Errorf("the log says %s", f.log.String())
	}
}

func TestAKeyInUseCanBeRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	f.table.beforeWrite = func() { // between the deletion's read and its write
		f.wantCode(value, "")
	}
	if err := f.store.DeleteKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	f.wantCode(value, berth.CodeUnauthenticated)
}

func TestATableThatDoesNotAnswerIsNoReasonToTurnAKeyDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	f.table.failGet = berth.Errorf(berth.CodeUnavailable, "throttled")
	f.wantCode(value, berth.CodeUnavailable)
	f.table.failGet = errors.New("no idea")
	f.wantCode(value, berth.CodeInternal)
}

func TestManyRequestsAtOnceMakeOneNote(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	f.table.reset()
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() { f.wantCode(value, "") })
	}
	wg.Wait()
	if _, writes := f.table.reset(); writes != 1 || f.used(key.ID).IsZero() {
		t.Errorf("%d writes, last used %s", writes, f.used(key.ID))
	}
}

func TestOnlyTheHashOfAValueIsKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, value := f.issue(berth.Key{Name: "k", Scopes: berth.KeyScopes})
	sum := sha256.Sum256([]byte(value))
	stored, err := f.store.FindKeyByHash(t.Context(), hex.EncodeToString(sum[:]))
	if err != nil || stored.ID != key.ID {
		t.Errorf("by its hash: %v, %v", stored, err)
	}
	item, err := f.table.Get(t.Context(), "key", string(key.ID))
	if err != nil || bytes.Contains(item.Body, []byte(value[12:])) || !bytes.Contains(item.Body, []byte(value[4:12])) {
		t.Errorf("the item is %s, %v", item.Body, err)
	}
}

func TestAValueShowsInNoForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key, value, err := f.keys.Create(t.Context(), "", berth.Principal{Name: "a", Scopes: berth.KeyScopes},
		berth.KeyRequest{Name: "k", Scopes: []berth.Scope{berth.ScopeRun}})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %+v %#v %s %v", key, key, value, value, []any{value})
	if strings.Contains(text, string(value.Reveal())[12:]) {
		t.Errorf("shown as %s", text)
	}
}

func TestCreateRefusesWhatItMayNotGive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := berth.Principal{Name: "a", Scopes: []berth.Scope{berth.ScopeAdmin}}
	for name, test := range map[string]struct {
		req  berth.KeyRequest
		want berth.Code
	}{
		"a scope that it lacks": {berth.KeyRequest{Name: "k", Scopes: []berth.Scope{berth.ScopeAdmin, berth.ScopeRun}}, berth.CodeForbidden},
		"the scope of a host":   {berth.KeyRequest{Name: "k", Scopes: []berth.Scope{berth.ScopeHost}}, berth.CodeInvalid},
		"no scope":              {berth.KeyRequest{Name: "k"}, berth.CodeInvalid},
		"scope none":            {berth.KeyRequest{Name: "k", Scopes: []berth.Scope{berth.ScopeNone}}, berth.CodeInvalid},
		"scope any":             {berth.KeyRequest{Name: "k", Scopes: []berth.Scope{"any"}}, berth.CodeInvalid},
		"a reserved name":       {berth.KeyRequest{Name: "local", Scopes: []berth.Scope{berth.ScopeAdmin}}, berth.CodeInvalid},
		"a bad span":            {berth.KeyRequest{Name: "k", Scopes: []berth.Scope{berth.ScopeAdmin}, ExpiresIn: "1h30m"}, berth.CodeInvalid},
	} {
		if _, _, err := f.keys.Create(t.Context(), "", admin, test.req); berth.CodeOf(err) != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if list, _, err := f.store.ListKeys(t.Context(), 10, ""); err != nil || len(list) > 0 {
		t.Errorf("made %v, %v", list, err)
	}
}

func TestWithoutRandomBytesThereIsNoKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.keys.Random = strings.NewReader("too few")
	if _, _, err := f.keys.Issue(t.Context(), berth.Key{Name: "k"}); err == nil {
		t.Error("a key was made of too few random bytes")
	}
}

func TestValuesHaveOneForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "random")
		value, err := access.NewValue(bytes.NewReader(raw))
		if err != nil || !access.IsValue(value) || len(value) != 47 || access.Shown(value) != value[4:12] {
			t.Fatalf("%q, %v", value, err)
		}
		at := rapid.IntRange(0, len(value)-1).Draw(t, "at")
		for _, bad := range []string{value[:at], value + "A", value[:at] + " " + value[at+1:], value[:at] + "+" + value[at+1:], strings.ToUpper(value)} {
			if access.IsValue(bad) || access.Shown(bad) != "" {
				t.Fatalf("%q passes for a key", bad)
			}
		}
	})
}
