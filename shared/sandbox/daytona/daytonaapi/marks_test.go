package daytonaapi

import (
	"testing"
)

func TestStreamsAreTakenApartHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	const out, errs = "\x01\x01\x01", "\x02\x02\x02"
	for name, tt := range map[string]struct{ in, want string }{
		"nothing":            {"", ""},
		"no mark":            {"plain\n", "plain\n"},
		"one stream":         {out + "a\n" + out + "b\n", "a\nb\n"},
		"both":               {out + "a\n" + errs + "bad\n" + out + "c\n" + errs + "worse\n", "a\nc\n"},
		"errors alone":       {errs + "bad\n", ""},
		"a mark that is not": {out + "a\x01\x01b", "ab"},
		"runes":              {out + "é😀\n" + errs + "ü\n" + out + "ß\n", "é😀\nß\n"},
	} {
		for size := 1; size <= len(tt.in)+1; size++ {
			var m marks
			var got []byte
			for rest := []byte(tt.in); len(rest) > 0; {
				piece := append([]byte(nil), rest[:min(size, len(rest))]...)
				rest = rest[len(piece):]
				got = append(got, piece[:m.strip(piece)]...)
			}
			if string(got) != tt.want {
				t.Errorf("%s, %d bytes at a time: %q, want %q", name, size, got, tt.want)
			}
		}
	}
}
