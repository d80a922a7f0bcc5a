package emulator

import (
	"slices"
	"testing"
)

func TestEventsOfTheCDKAreCounted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line       string
		number, of int
		ok         bool
	}{
		{"berth-api |  12/263 | 6:11:35 PM | CREATE_COMPLETE | AWS::Lambda::Function | api/X", 12, 263, true},
		{" 0/5 | 6:11:35 PM | CREATE_IN_PROGRESS", 0, 5, true},
		{"data (berth-data): deploying... [1/3]", 0, 0, false},
		{"see docs/aws.md | or not", 0, 0, false},
		{"", 0, 0, false},
	} {
		number, of, ok := counted(test.line)
		if number != test.number || of != test.of || ok != test.ok {
			t.Errorf("counted(%q) = %d, %d, %v, want %d, %d, %v", test.line, number, of, ok, test.number, test.of, test.ok)
		}
	}
}

func TestAProgramIsPointedToTheEmulatorAlone(t *testing.T) {
	t.Setenv("AWS_PROFILE", "the-real-one")
	t.Setenv("CDK_DEFAULT_ACCOUNT", "123456789012")
	e := &Emulator{Kind: LocalStack, Endpoint: "http://127.0.0.1:4711"}
	got := e.variables()
	for _, want := range []string{"AWS_ENDPOINT_URL=http://127.0.0.1:4711", "EDGE_PORT=4711", "AWS_ACCESS_KEY_ID=test"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, none := range []string{"AWS_PROFILE=the-real-one", "CDK_DEFAULT_ACCOUNT=123456789012"} {
		if slices.Contains(got, none) {
			t.Errorf("%s is passed on", none)
		}
	}
}

func TestAnUnknownEmulatorIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "aws", "LocalStack"} {
		if _, err := ParseKind(name); err == nil {
			t.Errorf("ParseKind(%q) = nil, want that it is none", name)
		}
	}
	for _, kind := range Kinds() {
		if got, err := ParseKind(string(kind)); got != kind || err != nil {
			t.Errorf("ParseKind(%q) = %s, %v", kind, got, err)
		}
	}
}
