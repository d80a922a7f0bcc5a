//go:build linux

package guest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// fakeMarks writes its score into a file of the test's.
func fakeMarks(t *testing.T, base int, used map[int]bool) (*killerMarks, func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "score")
	if err := os.WriteFile(path, []byte("unset"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := &killerMarks{path: path, base: base, used: func() map[int]bool { return used }}
	return m, func() string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

func TestTheGuestForksWithARaisedScoreAndTakesItsOwnBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		base int
		want string
	}{{0, "501"}, {-500, "1"}, {300, "801"}, {450, "901"}, {890, "901"}} {
		m, score := fakeMarks(t, tt.base, nil)
		during := ""
		pid, mark, err := m.with(func() (int, error) {
			during = score()
			return 7, nil
		})
		if during != tt.want || pid != 7 || err != nil || mark == 0 {
			t.Errorf("base %d: the child has %s, want %s; pid %d, mark %d, %v", tt.base, during, tt.want, pid, mark, err)
		}
		if _, _, err := m.with(func() (int, error) { return 0, errors.New("no") }); err == nil {
			t.Error("the error is lost")
		}
		if got := score(); got != strconv.Itoa(tt.base) {
			t.Errorf("base %d: afterwards the score is %s", tt.base, got)
		}
	}
	m, score := fakeMarks(t, 950, nil)
	if _, mark, err := m.with(func() (int, error) { return 1, nil }); mark != 0 || err != nil || score() != "unset" {
		t.Errorf("a guest that goes first anyway: mark %d, %v, score %s", mark, err, score())
	}
}

func TestMarksAreUsedAgainOnlyWhenNoProcessHasThem(t *testing.T) {
	t.Parallel()
	used := map[int]bool{}
	m, _ := fakeMarks(t, 0, used)
	take := func() uint64 {
		t.Helper()
		_, mark, err := m.with(func() (int, error) { return 1, nil })
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	seen := map[uint64]bool{}
	for range scoreMarks - 1 {
		mark := take()
		if seen[mark] || mark <= scoreRaise || mark >= scoreRaise+scoreMarks {
			t.Fatalf("mark %d after %d", mark, len(seen))
		}
		seen[mark] = true
	}
	for score := scoreRaise + 1; score < scoreRaise+scoreMarks; score++ {
		used[score] = score != 540 && score != 541
	}
	for _, want := range []uint64{540, 541, 540, 541} {
		if got := take(); got != want {
			t.Errorf("mark %d, want %d", got, want)
		}
	}
	used[540], used[541] = true, true
	if got := take(); got != 0 {
		t.Errorf("mark %d although all are taken", got)
	}
}
