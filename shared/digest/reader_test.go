package digest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/digest"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func TestBytesPassOnlyWhenTheyAreThoseAnnounced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, came, want string
		size             int64
		fault            string
	}{
		{"as announced", "bytes", sum("bytes"), 5, ""},
		{"without a hash", "bytes", "", 5, ""},
		{"nothing", "", sum(""), 0, ""},
		{"too many", "bytes!", sum("bytes"), 5, "more than the 5 bytes"},
		{"too few", "byte", sum("bytes"), 5, "there are 4 bytes"},
		{"others", "bites", sum("bytes"), 5, "another SHA-256"},
		{"something where nothing was announced", "b", sum(""), 0, "more than the 0 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for how, source := range map[string]io.Reader{
				"at once":           strings.NewReader(tt.came),
				"byte by byte":      iotest.OneByteReader(strings.NewReader(tt.came)),
				"end with the last": iotest.DataErrReader(strings.NewReader(tt.came)),
			} {
				r := digest.NewReader(source, tt.size, tt.want, nil)
				got, err := io.ReadAll(r)
				if tt.fault == "" {
					if err != nil || string(got) != tt.came || r.Sum() != sum(tt.came) || r.Count() != int64(len(tt.came)) || r.Fault() != nil {
						t.Errorf("%s: %q, %v, %s, %d", how, got, err, r.Sum(), r.Count())
					}
					continue
				}
				if berth.CodeOf(err) != berth.CodeInvalid || !strings.Contains(err.Error(), tt.fault) || r.Fault() != err {
					t.Errorf("%s: error %v, want %q", how, err, tt.fault)
				}
				if tt.size > 0 && int64(len(got)) >= tt.size && sum(string(got)) != tt.want {
					t.Errorf("%s: %q was passed on, which somebody may take for whole", how, got)
				}
				if n, again := r.Read(make([]byte, 1)); n != 0 || again != err {
					t.Errorf("%s: the next read is %d, %v", how, n, again)
				}
			}
		})
	}
}

func TestEachReadIsTold(t *testing.T) {
	t.Parallel()
	reads := 0
	var out bytes.Buffer
	r := digest.NewReader(iotest.OneByteReader(strings.NewReader("abc")), 3, "", func() { reads++ })
	if _, err := io.Copy(&out, r); err != nil || reads != 4 {
		t.Errorf("%d reads, %v, want 3 and the end", reads, err)
	}
}
