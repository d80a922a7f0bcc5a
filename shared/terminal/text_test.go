package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain é 日本":     "plain é 日本",
		"\x1b[31mred":    `\x1b[31mred`,
		"a\nb\tc\rd\x00": `a\nb\tc\rd\x00`,
		"\xff\xfe":       `\xff\xfe`,
		"a\u202eb":       "a\ufffdb", // turns the direction of text
		"a\u0085b":       "a\ufffdb",
		"\x7f":           `\x7f`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCleanTextIsFitForATerminal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		got := Clean(string(rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")))
		if !utf8.ValidString(got) || strings.ContainsFunc(strings.ReplaceAll(got, "\ufffd", ""), unfit) {
			r.Fatalf("Clean gave %q", got)
		}
	})
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		-time.Second: "0ms", 0: "0ms", 80 * time.Millisecond: "80ms", 1250 * time.Millisecond: "1.2s", 59990 * time.Millisecond: "59.9s",
		185 * time.Second: "3m05s", 130 * time.Minute: "2h10m", 76 * time.Hour: "3d4h",
	} {
		if got := Span(in); got != want {
			t.Errorf("Span(%v) = %s, want %s", in, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 3 << 20: "3.0 MiB", 1 << 62: "4.0 EiB"} {
		if got := Bytes(in); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in    string
		width int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"éééé", 3, "éé…"}, {"abcd", 0, "abcd"}} {
		if got := Cut(test.in, test.width); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.in, test.width, got, test.want)
		}
	}
}

func TestTableAlignsColumns(t *testing.T) {
	t.Parallel()
	var table Table
	table.Row("ID", "NAME", "X")
	table.Row("1", "é", "y")
	table.Row("222", "long\x1b", "")
	var b bytes.Buffer
	if err := table.Print(&b, "  "); err != nil {
		t.Fatal(err)
	}
	want := "  ID   NAME      X\n  1    é         y\n  222  long\\x1b\n"
	if b.String() != want {
		t.Errorf("table:\n%s\nwant:\n%s", b.String(), want)
	}
}
