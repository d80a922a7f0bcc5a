package berth_test

import (
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func FuzzLocalCopy(f *testing.F) {
	for _, seed := range []string{"FROM a\nCOPY b /c\n", "COPY <<EOF /x\nADD a b\nEOF\n", "# escape=`\nADD `\n a b", "COPY", "ADD --from=", "RUN <<-'X' <<Y\n\tX\nY\n", "COPY [\"a\"", "\r\n\\\n#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, file := berth.LocalCopy(text)
		if (line > 0) != (file != "") {
			t.Errorf("LocalCopy(%q) = %d, %q", text, line, file)
		}
	})
}

func TestTheFirstLocalCopyIsFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"FROM a\nRUN true\n":                            "",
		"FROM a\nCOPY --from=b /x /y\nADD file /z\n":    "file",
		"FROM a\nADD https://host/x /x\nCOPY one two /": "one",
	} {
		if _, file := berth.LocalCopy(text); file != want {
			t.Errorf("LocalCopy(%q) = %q, want %q", text, file, want)
		}
	}
}
