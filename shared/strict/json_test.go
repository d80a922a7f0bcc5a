package strict_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

type sample struct {
	Name    string            `json:"name"`
	Color   string            `json:"color" enum:"red,green"`
	Count   int               `json:"count"`
	Small   uint8             `json:"small"`
	Ratio   float64           `json:"ratio"`
	On      bool              `json:"on"`
	Data    []byte            `json:"data"`
	When    time.Time         `json:"when"`
	Maybe   *int              `json:"maybe"`
	Inner   inner             `json:"inner"`
	List    []inner           `json:"list"`
	Labels  map[string]string `json:"labels"`
	Any     any               `json:"any"`
	Raw     json.RawMessage   `json:"raw"`
	Hidden  string            `json:"-"`
	Untyped string
	embedded
}

type inner struct {
	Memory string `json:"memory,omitempty"`
}

type embedded struct {
	Shared string `json:"shared"`
}

func problemsOf(t *testing.T, err error) []berth.Problem {
	t.Helper()
	var e *berth.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *berth.Error", err)
	}
	return e.Problems
}

func TestJSONSetsEveryKindOfField(t *testing.T) {
	t.Parallel()
	const body = `{"name":"é\ud83d\ude00","color":"red","count":-3,"small":255,"ratio":1.5e2,"on":true,"data":"AQI=","when":"2026-01-02T03:04:05Z",
		"maybe":4,"inner":{"memory":"1GB"},"list":[{"memory":"2GB"},{}],"labels":{"a.b":"c"},"any":[1,null],"raw":{"x":1},"Untyped":"u","shared":"s"}`
	var got sample
	if err := strict.JSON([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	four := 4
	want := sample{
		Name: "é😀", Color: "red", Count: -3, Small: 255, Ratio: 150, On: true, Data: []byte{1, 2},
		When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Maybe: &four, Inner: inner{"1GB"}, List: []inner{{"2GB"}, {}},
		Labels: map[string]string{"a.b": "c"}, Any: []any{json.Number("1"), nil}, Raw: json.RawMessage(`{"x":1}`),
		Untyped: "u", embedded: embedded{"s"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{})); diff != "" {
		t.Errorf("JSON (-want +got)\n%s", diff)
	}
}

func TestAbsentKeysKeepTheirDefaultsAndNullClearsAPointer(t *testing.T) {
	t.Parallel()
	one := 1
	got := sample{Name: "default", Maybe: &one, Inner: inner{"1GB"}, List: []inner{{"x"}}}
	if err := strict.JSON([]byte(`{"maybe":null,"list":[]}`), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "default" || got.Inner.Memory != "1GB" || got.Maybe != nil || len(got.List) != 0 {
		t.Errorf("got %+v", got)
	}
	if one != 1 {
		t.Error("the default's target was changed")
	}
}

func TestAWordThatIsNearlyOneOfThoseKnownLeadsToIt(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"gren": "must be one of red, green: did you mean green?", "RED": "must be one of red, green: did you mean red?",
		"violet": "must be one of red, green", "": "must be one of red, green",
	} {
		var got sample
		problems := problemsOf(t, strict.JSON([]byte(`{"color":"`+word+`"}`), &got))
		if diff := cmp.Diff([]berth.Problem{{Location: "color", Message: want}}, problems); diff != "" {
			t.Errorf("%q (-want +got):\n%s", word, diff)
		}
	}
}

func TestJSONTellsEveryProblemAtItsPathWithoutTheValue(t *testing.T) {
	t.Parallel()
	const body = `{"nmae":"s3cret","name":5,"color":"s3cret","count":1.5,"small":256,"ratio":"s3cret","on":"yes","data":"s3cret!","when":"s3cret",
		"maybe":"s3cret","inner":null,"list":[{"memory":1},{"mem":"s3cret"},[]],"labels":{"a.b":1,"k":"v","k":"s3cret"},"hidden":1,"zzzzzzzz":1,"count":3}`
	var got sample
	err := strict.JSON([]byte(body), &got)
	if berth.CodeOf(err) != berth.CodeInvalid {
		t.Fatalf("JSON: %v, want invalid", err)
	}
	want := []berth.Problem{
		{Location: "labels.k", Message: "is there twice"},
		{Location: "count", Message: "is there twice"},
		{Location: "color", Message: "must be one of red, green"},
		{Location: "count", Message: "must be a whole number, written without fraction and exponent, that fits in 64 bits"},
		{Location: "data", Message: "is not base64 with padding"},
		{Location: "hidden", Message: "is not a known key"},
		{Location: "inner", Message: "must be an object, not null"},
		{Location: `labels["a.b"]`, Message: "must be a string, not a number"},
		{Location: "list[0].memory", Message: "must be a string, not a number"},
		{Location: "list[1].mem", Message: "is not a known key: there are memory"},
		{Location: "list[2]", Message: "must be an object, not a list"},
		{Location: "maybe", Message: "must be a whole number, not a string"},
		{Location: "name", Message: "must be a string, not a number"},
		{Location: "nmae", Message: "is not a known key: did you mean name?"},
		{Location: "on", Message: "must be true or false, not a string"},
		{Location: "ratio", Message: "must be a number, not a string"},
		{Location: "small", Message: "is out of range"},
		{Location: "when", Message: "must be a time such as 2026-01-02T15:04:05Z"},
		{Location: "zzzzzzzz", Message: "is not a known key"},
	}
	if diff := cmp.Diff(want, problemsOf(t, err)); diff != "" {
		t.Errorf("JSON (-want +got)\n%s", diff)
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error holds a value: %v", err)
	}
}

func TestJSONSaysWhereTheSyntaxIsWrong(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for body, want := range map[string]string{
		"":                         "the JSON document is empty",
		" \n ":                     "the JSON document is empty",
		"\ufeff{}":                 "the JSON document begins with a byte order mark: send UTF-8 without one",
		"{":                        "the JSON document ends too early (line 1, column 2)",
		"{\"name\":\n\"s3cret":     "the JSON document ends too early (line 2, column 8)",
		"{\n  \"name\": s3cret}":   "the document is no JSON (line 2, column 11)",
		`{"name":'s3cret'}`:        "the document is no JSON (line 1, column 9)",
		`{"name":"a",}`:            "the document is no JSON (line 1, column 13)",
		`{"name":01}`:              "the document is no JSON (line 1, column 10)",
		`{"name":"a"} s3cret`:      "there is something behind the JSON document (line 1, column 14)",
		`{}{}`:                     "there is something behind the JSON document (line 1, column 3)",
		"{}\n\n]":                  "there is something behind the JSON document (line 3, column 1)",
		"{\"name\":\"\xff\"}":      "the JSON document is not UTF-8 (line 1, column 10)",
		"{\"name\":\"a\tb\"}":      "the document is no JSON (line 1, column 11)",
		`{"name":"\ud83d"}`:        "a string holds half of a surrogate pair (line 1, column 8)",
		`{"name":"\ude00\ud83d"}`:  "a string holds half of a surrogate pair (line 1, column 8)",
		`{"a\ud800":1}`:            "a string holds half of a surrogate pair (line 1, column 2)",
		`{"any":` + deep + `}`:     "the JSON document is nested too deep (line 1, column 71)",
		strings.Repeat("[", 20000): "the JSON document is nested too deep (line 1, column 10001)",
	} {
		var got sample
		err := strict.JSON([]byte(body), &got)
		if err == nil || err.Error() != want || berth.CodeOf(err) != berth.CodeMalformed {
			t.Errorf("JSON(%.40q): got %v, want %q", body, err, want)
		}
	}
}

func TestJSONTakesReplacementCharactersThatWereWritten(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"name":"\ufffd"}`:             "\ufffd",
		"{\"name\":\"\ufffd\"}":         "\ufffd",
		`{"name":"\\ud800 \ufffd"}`:     `\ud800 ` + "\ufffd",
		`{"name":"\uD83D\uDE00\ufffd"}`: "😀\ufffd",
	} {
		var got sample
		if err := strict.JSON([]byte(body), &got); err != nil || got.Name != want {
			t.Errorf("JSON(%s) = %q, %v; want %q", body, got.Name, err, want)
		}
	}
}

func TestADocumentThatIsNoObjectIsAProblemOfTheWhole(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{"[]": "a list", "null": "null", `"x"`: "a string", "1": "a number", "true": "true or false"} {
		var got sample
		err := strict.JSON([]byte(body), &got)
		if diff := cmp.Diff([]berth.Problem{{Message: "must be an object, not " + want}}, problemsOf(t, err)); diff != "" {
			t.Errorf("JSON(%s) (-want +got)\n%s", body, diff)
		}
	}
}

func TestJSONListsAtMostAHundredProblems(t *testing.T) {
	t.Parallel()
	body := `{"list":[` + strings.TrimSuffix(strings.Repeat(`{"x":1},`, 250), ",") + `]}`
	var got sample
	problems := problemsOf(t, strict.JSON([]byte(body), &got))
	if last := problems[len(problems)-1]; len(problems) != 101 || last.Message != "and 150 more" {
		t.Errorf("got %d problems, the last %v", len(problems), last)
	}
}

func TestAKeyIsShownWithoutWhatStandsBehindItsEqualsSign(t *testing.T) {
	t.Parallel()
	var got sample
	err := strict.JSON([]byte(`{"TOKEN=s3cret": 1, "`+strings.Repeat("k", 100)+`": 1}`), &got)
	want := []berth.Problem{
		{Location: `["TOKEN=…"]`, Message: "is not a known key"},
		{Location: `["` + strings.Repeat("k", 64) + `…"]`, Message: "is not a known key"},
	}
	if diff := cmp.Diff(want, problemsOf(t, err)); diff != "" {
		t.Errorf("JSON (-want +got)\n%s", diff)
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"name":"x"}`, `{"list":[{}]}`, `{"a":1,"a":2}`, `{"name":"\ud800"}`, `[[[[`, "{}x", `{"data":"AQI="}`, `{"count":1e400}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, plain sample
		err := strict.JSON(data, &got)
		if err != nil && berth.CodeOf(err) == berth.CodeInternal {
			t.Fatalf("JSON(%q): uncoded %v", data, err)
		}
		if err == nil {
			if e := json.Unmarshal(data, &plain); e != nil {
				t.Fatalf("JSON took %q, which encoding/json refuses: %v", data, e)
			}
			// Unlike here, encoding/json keeps numbers of any as float64.
			got.Any, plain.Any, got.Raw, plain.Raw = nil, nil, nil, nil
			if diff := cmp.Diff(plain, got, cmp.AllowUnexported(sample{})); diff != "" {
				t.Fatalf("JSON(%q) (-encoding/json +strict)\n%s", data, diff)
			}
		}
	})
}
