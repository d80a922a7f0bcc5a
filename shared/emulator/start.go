package emulator

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shared are the emulators of this test binary, while tests use them.
var shared struct {
	mu    sync.Mutex // guards what follows
	kinds map[Kind]*use
	kept  bool // until Main ends them
}

// use is an emulator that some tests use.
type use struct {
	users   int
	running *Emulator
	failed  error // the first failure to start, which is not tried again
}

// Start gives a running emulator. All tests of a binary that run at once share
// one of a kind; the last one stops it, or Main. Use Config with an account of the
// test's own to be alone.
//
// With -short it skips. It also skips, with the reason, where there is no fitting
// Python or no way to install the emulator, unless BERTH_REQUIRE names
// `emulators`: then it fails. The emulator's logs are printed when a test failed.
func Start(t testing.TB, kind Kind) *Emulator {
	t.Helper()
	skipShort(t)
	e, err := acquire(t.Context(), kind)
	if err != nil {
		absent(t, kind, err)
	}
	t.Cleanup(func() {
		printLogs(t, e)
		release(kind)
	})
	return e
}

// New is like Start, but gives an emulator of the test's own.
func New(t testing.TB, kind Kind) *Emulator {
	t.Helper()
	skipShort(t)
	e, err := runTemporary(t.Context(), kind)
	if err != nil {
		absent(t, kind, err)
	}
	t.Cleanup(func() {
		printLogs(t, e)
		discard(e)
	})
	return e
}

// Each runs a test on each emulator, as a subtest of its name.
func Each(t *testing.T, test func(t *testing.T, e *Emulator)) {
	t.Helper()
	for _, kind := range Kinds() {
		t.Run(string(kind), func(t *testing.T) { test(t, Start(t, kind)) })
	}
}

// Required reports whether BERTH_REQUIRE names the emulators.
func Required() bool {
	names := strings.FieldsFunc(os.Getenv("BERTH_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, "emulators")
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("emulators are not used with -short")
	}
}

func absent(t testing.TB, kind Kind, err error) {
	t.Helper()
	if Required() {
		t.Fatalf("BERTH_REQUIRE names emulators, but %s does not run: %v", kind, err)
	}
	t.Skipf("%s does not run here: %v", kind, err)
}

func printLogs(t testing.TB, e *Emulator) {
	if t.Failed() {
		t.Log(e.Logs(8000))
	}
}

func acquire(ctx context.Context, kind Kind) (*Emulator, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.kinds == nil {
		shared.kinds = map[Kind]*use{}
	}
	u := shared.kinds[kind]
	if u == nil {
		u = &use{}
		shared.kinds[kind] = u
	}
	if u.failed != nil {
		return nil, u.failed
	}
	if u.running == nil {
		if u.running, u.failed = runTemporary(ctx, kind); u.failed != nil {
			return nil, u.failed
		}
	}
	u.users++
	return u.running, nil
}

func release(kind Kind) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	u := shared.kinds[kind]
	if u.users--; u.users == 0 && !shared.kept {
		discard(u.running)
		u.running = nil
	}
}

// runTemporary runs an emulator with its state in a temporary folder. It outlives
// ctx, which bounds its start.
func runTemporary(ctx context.Context, kind Kind) (*Emulator, error) {
	folder, err := os.MkdirTemp("", "berth-emulator-")
	if err != nil {
		return nil, err
	}
	e, err := Run(ctx, Options{Kind: kind, Folder: folder})
	if err != nil {
		_ = os.RemoveAll(folder) // nothing runs there
	}
	return e, err
}

func discard(e *Emulator) {
	folder := e.folder
	e.Stop()
	_ = os.RemoveAll(folder) // in the folder for temporary files: the system tidies it up too
}
