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
