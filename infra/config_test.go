package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAContextThatIsWrongIsRefusedWithAllItsFaults(t *testing.T) {
	needNode(t)
	bad := map[string]any{
		"installation": "Prod_1", "arch": "sparc", "maxLiveRuns": "many", "vpc": "my-vpc", "subnets": "a;b",
		"customerKey": "alias/mine", "domain": "https://api.example.com", "certificate": "mine", "waf": "yes",
		"alarmEmail": "nobody", "retainData": "maybe", "defaultEnvironment": "A B", "daytonaURL": "daytona", "spritesURL": "sprites", "archs": "arm64",
	}
	_, err := synthesize(bad)
	if err == nil {
		t.Fatal("it is taken")
	}
	for name := range bad {
		if !strings.Contains(err.Error(), "context "+name+":") {
			t.Errorf("the error does not name %s:\n%v", name, err)
		}
	}
}

func TestContextsThatBelongTogetherAreGivenTogether(t *testing.T) {
	needNode(t)
	for _, c := range []map[string]any{
		{"vpc": everything["vpc"]},
		{"subnets": everything["subnets"]},
		{"domain": everything["domain"]},
		{"certificate": everything["certificate"]},
	} {
		if _, err := synthesize(c); err == nil || !strings.Contains(err.Error(), "give both or neither") {
			t.Errorf("%v = %v, want that both are asked for", c, err)
		}
	}
}

func TestFunctionsThatAreNotBuiltAreAskedFor(t *testing.T) {
	needNode(t)
	if _, err := synthesize(map[string]any{"functionsDir": t.TempDir()}); err == nil || !strings.Contains(err.Error(), "make functions") {
		t.Errorf("without archives = %v, want the command that builds them", err)
	}
}

// Emulators run functions for their own machine: nothing else may differ there.
func TestTheProcessorIsAllThatArchChanges(t *testing.T) {
	needNode(t)
	other, err := synthesize(map[string]any{"arch": "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for name, arm := range deployed(t).written {
		amd := other.written[name]
		changed += strings.Count(amd, `"x86_64"`)
		if diff := cmp.Diff(arm, strings.ReplaceAll(amd, `"x86_64"`, `"arm64"`)); diff != "" {
			t.Errorf("%s differs by more than the processor:\n%s", name, diff)
		}
	}
	if want := len(deployed(t).all("AWS::Lambda::Function")); changed != want {
		t.Errorf("%d functions have the other processor, want %d", changed, want)
	}
}
