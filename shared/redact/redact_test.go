package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func values(list ...string) [][]byte {
	var out [][]byte
	for _, v := range list {
		out = append(out, []byte(v))
	}
	return out
}

// byByte feeds one byte at a time.
func byByte(m *Masker, text []byte) []byte {
	s := m.Stream()
	var out []byte
	for i := range text {
		out = append(out, s.Write(text[i:i+1])...)
	}
	return append(out, s.Flush()...)
}

// plain is what the patterns mean, without cleverness: every match of every
// pattern at every place, overlaps merged.
func plain(patterns [][]byte, text []byte) []byte {
	masked := make([]int, len(text)) // end of the longest match that begins here
	for _, p := range patterns {
		for from := range text {
			i, ok := from, true
			for _, c := range p {
				if i >= len(text) || c != ' ' && text[i] != c || c == ' ' && !isSpace(text[i]) {
					ok = false
					break
				}
				i++
				for c == ' ' && i < len(text) && isSpace(text[i]) {
					i++
				}
			}
			if ok && i-from >= MinBytes {
				masked[from] = max(masked[from], i)
			}
		}
	}
	var out []byte
	for i := 0; i < len(text); {
		end := masked[i]
		if end == 0 {
			out = append(out, text[i])
			i++
			continue
		}
		for j := i; j < end; j++ {
			end = max(end, masked[j])
		}
		out = append(out, Replacement...)
		i = end
	}
	return out
}

func TestValuesAreMaskedInEveryForm(t *testing.T) {
	t.Parallel()
	const pem = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA\n{\n}\nab\n-----END KEY-----\n"
	const odd = `p"ss\w<o>rd&1é😀/+ %`
	jsonOf := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	}
	b64 := base64.StdEncoding.EncodeToString
	long := strings.Repeat("0123456789abcdefghij", 8)
	tests := []struct {
		name         string
		value        string
		text, wanted string
	}{
		{"whole", "hunter2!", "a hunter2! b", "a *** b"},
		{"twice in a row", "hunter2!", "hunter2!hunter2!", "******"},
		{"at the end", "hunter2!", "xhunter2!", "x***"},
		{"only begun", "hunter2!", "hunter2", "hunter2"},
		{"begun twice", "aabaabaac", "aabaabaabaac", "aab***"},
		{"too short", "abcde", "abcde", "abcde"},
		{"a line of many", pem, "key MIIEpAIBAAKCAQEA.", "key ***."},
		{"braces stay", pem, "func() { }\n}", "func() { }\n}"},
		{"all lines", pem, pem, "***\n"},
		{"newlines echoed as blanks", pem, strings.ReplaceAll(pem, "\n", " "), "*** "},
		{"double blank echoed unquoted", "two  words", "two words", "***"},
		{"blank echoed as newline", "two words", "two\r\n\twords", "***"},
		{"mostly blank, exact", "a     b", "x a     b", "x ***"},
		{"mostly blank, ordinary text stays", "a     b", "a b", "a b"},
		{"base64", "hunter2!", b64([]byte("hunter2!")), "***E="},
		{"base64 with a newline", "hunter2!!", b64([]byte("hunter2!!\n")), "***Cg=="},
		{"base64 at offset 1", "hunter2!", b64([]byte("x:hunter2!")[1:]), "Om***"},
		{"base64 at offset 2", "hunter2!!", b64([]byte("xyhunter2!!")), "eHl***E="},
		{"base64 broken at 76", long, "x " + b64([]byte(long))[:76] + "\n" + b64([]byte(long))[76:152] + "\n", "x ***\n***\n"},
		{"base64 URL", "??>>~~??>>", base64.URLEncoding.EncodeToString([]byte("??>>~~??>>")), "***g=="},
		{"URL query", odd, "q=" + url.QueryEscape(odd), "q=***"},
		{"URL path", odd, "/" + url.PathEscape(odd), "/***"},
		{"URL in lower case", "a/b/c/d", "a%2fb%2fc%2fd", "***"},
		{"JSON of Go", odd, `"` + jsonOf(odd) + `"`, `"***"`},
		{"JSON in ASCII", odd, `p\"ss\\w<o>rd&1\u00e9\ud83d\ude00/+ %`, "***"},
		{"JSON of a multi-line value", pem, jsonOf(pem), `***\n`},
		{"binary", "\x00\xff\x00\xfe\x01\x02", "a\x00\xff\x00\xfe\x01\x02b", "a***b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := New(values(tt.value))
			if got := m.Mask([]byte(tt.text)); string(got) != tt.wanted {
				t.Errorf("Mask(%q) = %q, want %q", tt.text, got, tt.wanted)
			}
			if got := byByte(m, []byte(tt.text)); string(got) != tt.wanted {
				t.Errorf("by byte %q = %q, want %q", tt.text, got, tt.wanted)
			}
		})
	}
}

func TestStreamingIsTheSameAsWhole(t *testing.T) {
	t.Parallel()
	// A small alphabet makes matches overlap and fail late.
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("ab \n")), 6, 14, -1)
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(letters, 1, 5).Draw(t, "secrets")
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom(secrets),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string { return s[:len(s)/2] }),
			rapid.StringOfN(rapid.SampledFrom([]rune("ab \tx")), 0, 10, -1),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string { return base64.StdEncoding.EncodeToString([]byte("xy" + s)) }),
		), 0, 12).Draw(t, "parts")
		text := []byte(strings.Join(parts, ""))
		m := New(values(secrets...))
		want := plain(patternsOf(values(secrets...)), text)
		if got := m.Mask(text); !bytes.Equal(got, want) {
			t.Fatalf("Mask(%q) = %q, want %q", text, got, want)
		}
		if got := byByte(m, text); !bytes.Equal(got, want) {
			t.Fatalf("by byte %q = %q, want %q", text, got, want)
		}
		s := m.Stream()
		var got []byte
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			got = append(got, s.Write(rest[:n])...)
			rest = rest[n:]
		}
		if got = append(got, s.Flush()...); !bytes.Equal(got, want) {
			t.Fatalf("in pieces %q = %q, want %q", text, got, want)
		}
	})
}

func TestOnlyAPossibleMatchIsHeldBack(t *testing.T) {
	t.Parallel()
	s := New(values("hunter2!")).Stream()
	for _, step := range []struct{ in, out string }{
		{"line\n", "line\n"}, {"a hun", "a "}, {"gry\n", "hungry\n"}, {"hunter2!", "***"}, {"", ""}, {"h", ""},
	} {
		if got := s.Write([]byte(step.in)); string(got) != step.out {
			t.Errorf("Write(%q) = %q, want %q", step.in, got, step.out)
		}
	}
	if got := s.Flush(); string(got) != "h" {
		t.Errorf("Flush() = %q, want %q", got, "h")
	}
}

func TestWhatIsHeldBackIsBounded(t *testing.T) {
	t.Parallel()
	s := New(values("secret word")).Stream()
	in, out := 0, 0
	s.Write([]byte("secret"))
	blanks := bytes.Repeat([]byte(" "), 64<<10)
	for range 64 {
		in += len(blanks)
		out += len(s.Write(blanks))
		if cap(s.held) > 2*maxHeld+len(blanks) {
			t.Fatalf("%d bytes are held", cap(s.held))
		}
	}
	if out < in-maxHeld {
		t.Errorf("%d of %d bytes came out", out, in)
	}
}

func TestALargeValueTakesLittleMemory(t *testing.T) {
	t.Parallel()
	var value []byte
	for i := 0; len(value) < MaxValueBytes; i++ {
		value = append(value, []byte(base64.StdEncoding.EncodeToString([]byte{byte(i), byte(i >> 8), byte(i * 7), byte(i * 13)})+"\n")...)
	}
	m := New([][]byte{value})
	if n := len(m.automaton.sym); n > 2<<20 {
		t.Errorf("%d nodes for a value of 64 KiB", n)
	}
	if got := byByte(m, value); !bytes.HasPrefix(got, []byte("***")) || len(got) > 16 {
		t.Errorf("masked value has %d bytes", len(got))
	}
}

func FuzzStreamingIsTheSameAsWhole(f *testing.F) {
	f.Add([]byte("hunter2!"), []byte("two  words"), []byte("x hunter2! two\nwords"))
	f.Add([]byte("aabaabaac"), []byte("{\n  \"key\": 1\n}"), []byte("aabaabaabaac"))
	f.Fuzz(func(t *testing.T, one, two, text []byte) {
		if len(one)+len(two) > 200 || len(text) > 1000 {
			return
		}
		m := New([][]byte{one, two})
		want := plain(patternsOf([][]byte{one, two}), text)
		if got := m.Mask(text); !bytes.Equal(got, want) {
			t.Errorf("Mask(%q) = %q, want %q", text, got, want)
		}
		if got := byByte(m, text); !bytes.Equal(got, want) {
			t.Errorf("by byte %q = %q, want %q", text, got, want)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	m := New(values("hunter2!hunter2!", "ghp_0123456789abcdefghijklmnopqrstuvwxyz", "two  words of it", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"))
	text := bytes.Repeat([]byte("2024-05-01T10:00:00Z INFO the quick brown fox jumps over the lazy dog request=42\n"), 800)
	b.SetBytes(int64(len(text)))
	s := m.Stream()
	for b.Loop() {
		s.Write(text)
	}
}
