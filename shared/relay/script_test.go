package relay

import (
	"regexp"
	"strings"
	"testing"
)

func TestScriptsAreReadTheSameByEveryLoginShell(t *testing.T) {
	t.Parallel()
	g := Guest{Installation: "test", Unfiltered: true, Lines: true}
	names := map[string]string{"amd64": "guest-1", "arm64": "guest-2"}
	history := regexp.MustCompile(`![^ \t=(]`) // to csh, inside quotes too
	for name, text := range map[string]string{
		"to a new sandbox":   g.dialScript("01arz3ndektsv4rrffq69g5fav", names, true),
		"to one that exists": g.dialScript("01arz3ndektsv4rrffq69g5fav", names, false),
		"of the guest":       installScript("guest-1", "gzip -dc", 1),
	} {
		line := script(text)
		inner := strings.TrimSuffix(strings.TrimPrefix(line, "exec sh -c '"), "'")
		if strings.ContainsAny(line, "\n\r") || strings.ContainsAny(inner, `'`) || strings.Contains(inner, `\\`) || history.MatchString(inner) {
			t.Errorf("the script %s is not one word to every shell: %s", name, line)
		}
	}
}
