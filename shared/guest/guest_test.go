//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
	"github.com/berth-dev/berth/shared/redact"
	"github.com/berth-dev/berth/shared/spool"
)

func TestTheDeclaredEnvironmentWins(t *testing.T) {
	t.Parallel()
	got := environ(
		[]string{"A=1", "B=2", "BERTH_X=3", "BASH_ENV=f", "PWD=/old", "SHLVL=2", "_=x", "OLDPWD=/", "C=a=b", "ODD"},
		[]wire.Variable{{Name: "B", Value: "declared"}, {Name: "BERTH_Y", Value: "declared"}, {Name: "BASH_ENV", Value: "declared"}}, "/dir",
	)
	want := []string{"A=1", "C=a=b", "ODD", "PWD=/dir", "B=declared", "BERTH_Y=declared", "BASH_ENV=declared"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environ (-want +got):\n%s", diff)
	}
}

// newTestRecord writes a spool in a file of the test's.
func newTestRecord(t *testing.T, outputCap int64, mask ...string) (*record, func() []berth.Frame) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := spool.OpenWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	var values [][]byte
	for _, m := range mask {
		values = append(values, []byte(m))
	}
	return newRecord(w, f, redact.New(values), outputCap), func() []berth.Frame {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		frames, exit, err := spool.Decode(b)
		if err != nil || exit == nil {
			t.Fatalf("Decode: exit %v, %v", exit, err)
		}
		return frames
	}
}

func TestTheStreamsOfARecordAreMaskedApart(t *testing.T) {
	t.Parallel()
	r, frames := newTestRecord(t, 0, "secret-value")
	r.write(spool.TypeStdout, []byte("secret-"))
	r.write(spool.TypeStderr, []byte("value "))
	r.write(spool.TypeStdout, []byte("value."))
	r.write(spool.TypeStdout, []byte("secret-v"))
	r.close(berth.Exit{}, nil)
	if r.write(spool.TypeStdout, []byte("late")) {
		t.Error("output after the exit was kept")
	}
	want := []berth.Frame{
		{Stream: berth.Stderr, Data: []byte("value ")}, {Stream: berth.Stdout, Data: []byte("***.")}, {Stream: berth.Stdout, Data: []byte("secret-v")},
	}
	if diff := cmp.Diff(want, frames()); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

func TestTheCapOfARecordCountsBothStreams(t *testing.T) {
	t.Parallel()
	r, frames := newTestRecord(t, 5)
	r.write(spool.TypeStdout, []byte("abc"))
	r.write(spool.TypeStderr, []byte("def"))
	r.write(spool.TypeStdout, []byte("ghi"))
	r.close(berth.Exit{}, nil)
	want := []berth.Frame{
		{Stream: berth.Stdout, Data: []byte("abc")}, {Stream: berth.Stderr, Data: []byte("de")}, {Stream: berth.Mark, Data: []byte("output after 5 bytes was not kept")},
	}
	if diff := cmp.Diff(want, frames()); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

func TestNoticesAreMergedAndNeverWait(t *testing.T) {
	t.Parallel()
	l := newLooks()
	for range 10_000 {
		l.add("a")
	}
	if got := l.next(t.Context()); len(got) != 1 || got[0] != "a" {
		t.Errorf("next = %v", got)
	}
	go func() {
		time.Sleep(10 * time.Millisecond)
		l.add("b")
	}()
	if got := l.next(t.Context()); len(got) != 1 || got[0] != "b" {
		t.Errorf("next = %v", got)
	}
}

func TestExitsSayWhatTheShellWouldSay(t *testing.T) {
	t.Parallel()
	for status, want := range map[syscall.WaitStatus]berth.Exit{
		0:         {Code: 0, Reason: berth.ExitExited},
		7 << 8:    {Code: 7, Reason: berth.ExitExited},
		9:         {Code: 137, Signal: "KILL", Reason: berth.ExitSignalled},
		11 | 0x80: {Code: 139, Signal: "SEGV", Reason: berth.ExitSignalled}, // with a core
		35:        {Code: 163, Signal: "RT35", Reason: berth.ExitSignalled},
	} {
		if got := exitOf(status); got != want {
			t.Errorf("exitOf(%d) = %+v, want %+v", status, got, want)
		}
	}
}
