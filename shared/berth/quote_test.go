package berth

import "testing"

func TestWordsAreQuotedForAShellWhereTheyMustBe(t *testing.T) {
	t.Parallel()
	for want, argv := range map[string][]string{
		"ls -la a/b.go":              {"ls", "-la", "a/b.go"},
		"sh -c 'echo $X; exit 1' ''": {"sh", "-c", "echo $X; exit 1", ""},
		`echo 'it'\''s'`:             {"echo", "it's"},
		"echo 'a\nb' '*' '~' 'é'":    {"echo", "a\nb", "*", "~", "é"},
	} {
		if got := ShellQuote(argv...); got != want {
			t.Errorf("ShellQuote(%q) = %s, want %s", argv, got, want)
		}
	}
}
