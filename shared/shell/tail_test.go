package shell

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestAnAnswerThatIsCutIsAnError(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]berth.Code{0: "", 10: "", 11: berth.CodeTooLarge, 1000: berth.CodeTooLarge} {
		out := &tail{most: 10}
		text := strings.Repeat("x", size)
		for i := range text {
			if _, err := out.Write([]byte(text[i : i+1])); err != nil {
				t.Fatal(err)
			}
		}
		got, err := out.whole()
		if berth.CodeOf(err) != want || err == nil && string(got) != text {
			t.Errorf("%d bytes: %d bytes, %v; want code %q", size, len(got), err, want)
		}
		if kept := out.String(); kept != text[max(0, size-10):] {
			t.Errorf("of %d bytes %q is kept", size, kept)
		}
	}
}

func TestWhatMayPassIsToldFromWhatDoesNot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]berth.Code{
		"ssh: Could not resolve hostname box: Name or service not known":               berth.CodeInvalid,
		"ssh: Could not resolve hostname box: Temporary failure in name resolution":    berth.CodeUnavailable,
		"dial tcp: lookup box on 127.0.0.53:53: no such host":                          berth.CodeInvalid,
		"dial tcp: lookup box on 127.0.0.53:53: server misbehaving":                    berth.CodeUnavailable,
		"ssh: connect to host box port 22: Connection refused":                         berth.CodeUnavailable,
		"Connection closed by 10.0.0.1 port 22":                                        berth.CodeUnavailable,
		"u@box: Permission denied (publickey).":                                        berth.CodeForbidden,
		"/home/u/.ssh/config: line 3: Bad configuration option: nonsense":              berth.CodeInvalid,
		"No ED25519 host key is known for box and you have requested strict checking.": berth.CodeForbidden,
	} {
		if err := failure("box", text, nil); berth.CodeOf(err) != want || !strings.Contains(err.Error(), text) {
			t.Errorf("failure(%q) = %s: %v, want %s", text, berth.CodeOf(err), err, want)
		}
	}
}
