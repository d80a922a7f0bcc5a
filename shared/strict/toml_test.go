package strict_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

const sampleTOML = `_version = 1 # first

[run.environment]
id = "ci"
resources.memory = "4GB"
image = { docker = "debian", extra = [
  1,
  { deep = true },
] }

[[run.prepare.steps]]
script = "a"

[[run.prepare.steps]]
script = """
b
"""
[run.prepare.steps.env]
X = "1"

[environments."a.b".labels]
'x y' = "z"
`

func TestParseTOMLKnowsTheLineOfEachKey(t *testing.T) {
	t.Parallel()
	doc, err := strict.ParseTOML([]byte(sampleTOML))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"_version": 1, "run.environment": 3, "run.environment.id": 4, "run.environment.resources": 5,
		"run.environment.resources.memory": 5, "run.environment.image.docker": 6, "run.environment.image.extra[1].deep": 8,
		"run.prepare.steps[0]": 11, "run.prepare.steps[0].script": 12, "run.prepare.steps[1].script": 15,
		"run.prepare.steps[1].env.X": 19, `environments["a.b"].labels["x y"]`: 22,
		"run.prepare.steps[1].nothing": 14, "run.environment.id.below": 4, "nothing": 1, "": 1,
	} {
		if got := doc.Line(path); got != want {
			t.Errorf("Line(%s) = %d, want %d", path, got, want)
		}
	}
}

func TestTOMLReadsIntoATree(t *testing.T) {
	t.Parallel()
	got, err := strict.TOML([]byte("a = 1\nb = 1.5\nc = [true, \"x\"]\n[d]\ne = 2026-01-02T03:04:05Z\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": int64(1), "b": 1.5, "c": []any{true, "x"},
		"d": map[string]any{"e": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("TOML (-want +got)\n%s", diff)
	}
}

func TestTOMLSaysWhereTheSyntaxIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a = \n":                              "the document is no TOML: unexpected character U+000A at start of value (line 1, column 5)",
		"a = 1\na = 2\n":                      "the document is no TOML: key a is already defined (line 2, column 1)",
		"[a]\n[a]\n":                          "the document is no TOML: table a already exists (line 2, column 2)",
		"a = { b = 1, b = 2 }":                "the document is no TOML: key b is already defined (line 1, column 1)",
		"a = s3cret":                          "the document is no TOML: unexpected character U+0073 's' at start of value (line 1, column 5)",
		"a = \"s3cret":                        "the document is no TOML: unterminated basic string (line 1, column 11)",
		"a = 1 s3cret":                        "the document is no TOML: expected newline but got U+0073 's' (line 1, column 7)",
		"[a\n":                                "the document is no TOML: expected ']' to close table name (line 1, column 3)",
		"x = 1\n\n\xff = 2":                   "the TOML document is not UTF-8 (line 3, column 1)",
		"x = \"a\x00\"":                       "the TOML document holds a NUL (line 1, column 7)",
		"a = 99999999999999999999":            "the document is no TOML: decimal number is too large to fit in a 64-bit signed integer (line 1, column 5)",
		strings.Repeat("a.", 64) + "a = 1":    "the TOML document is nested too deep (line 1)",
		"[" + strings.Repeat("a.", 64) + "a]": "the TOML document is nested too deep (line 1)",
		"\nx = " + strings.Repeat("[", 65) + strings.Repeat("]", 65):       "the TOML document is nested too deep (line 2)",
		"x = " + strings.Repeat("{a=", 65) + "1" + strings.Repeat("}", 65): "the TOML document is nested too deep (line 1)",
	} {
		_, err := strict.TOML([]byte(text))
		if err == nil || err.Error() != want || berth.CodeOf(err) != berth.CodeMalformed {
			t.Errorf("TOML(%.40q): got %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("TOML(%.40q): the error holds a value: %v", text, err)
		}
	}
}

func TestADocumentOfTooManyKeysIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"inline tables": "x = [" + strings.Repeat("{a=1},", 10_001) + "]",
		"tables":        strings.Repeat("[[a]]\n", 10_001),
	} {
		_, err := strict.TOML([]byte(text))
		if err == nil || err.Error() != "the TOML document has more than 10000 keys" || berth.CodeOf(err) != berth.CodeMalformed {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := strict.TOML([]byte("x = [" + strings.Repeat("1,", 100_000) + "]")); err != nil {
		t.Errorf("a long list of numbers: %v", err)
	}
}

func TestATOMLTreeDecodesAsJSONDoes(t *testing.T) {
	t.Parallel()
	doc, err := strict.TOML([]byte("name = 1\ncount = 1.5\nratio = 2\nwhen = 2026-01-02\non = 1979-05-27T07:32:00Z\nlist = [{memroy = 1}]\ncuont = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got sample
	want := []berth.Problem{
		{Location: "t.count", Message: "must be a whole number"},
		{Location: "t.cuont", Message: "is not a known key: did you mean count?"},
		{Location: "t.list[0].memroy", Message: "is not a known key: did you mean memory?"},
		{Location: "t.name", Message: "must be a string, not a number"},
		{Location: "t.on", Message: "must be true or false, not a date or time"},
		{Location: "t.when", Message: "must be a string, not a date or time"},
	}
	if diff := cmp.Diff(want, strict.Decode(doc, &got, "t")); diff != "" {
		t.Errorf("Decode (-want +got)\n%s", diff)
	}
	if got.Ratio != 2 {
		t.Errorf("ratio = %v: what is right is to be set beside what is wrong", got.Ratio)
	}
}

func FuzzTOML(f *testing.F) {
	for _, seed := range []string{sampleTOML, "a.b.c = 1", "[[a]]\n[[a.b]]\nx=1", "a = [[{b=1}]]", "[a]\n[[a]]", "\"\" = 1", "a = inf", "a = 1e999"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := strict.ParseTOML(data)
		if err != nil {
			if berth.CodeOf(err) != berth.CodeMalformed {
				t.Fatalf("ParseTOML(%q): %v", data, err)
			}
			return
		}
		lines := strings.Count(string(data), "\n") + 1
		for key := range doc.Tree {
			if line := doc.Line(berth.FieldPath("", key)); line < 1 || line > lines {
				t.Fatalf("ParseTOML(%q): %q is on line %d of %d", data, key, line, lines)
			}
		}
		var got sample
		strict.Decode(doc.Tree, &got, "")
	})
}
