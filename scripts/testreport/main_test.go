package main

import (
	"strings"
	"testing"
)

const stream = `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"chatter\n"}
{"Action":"output","Package":"p","Test":"TestGood","Output":"    y_test.go:7: left out: a case: this emulator lacks tokens\n"}
{"Action":"pass","Package":"p","Test":"TestGood","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestAway","Output":"=== RUN   TestAway\n"}
{"Action":"output","Package":"p","Test":"TestAway","Output":"    x_test.go:5: no engine answers\n"}
{"Action":"output","Package":"p","Test":"TestAway","Output":"--- SKIP: TestAway (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestAway"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"    x_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"fail","Package":"p","Elapsed":0.3}
{"Action":"build-output","ImportPath":"q","Output":"q.go:1: undefined: x\n"}
{"Action":"build-fail","ImportPath":"q"}
`

func TestTheReportTellsFailuresWithTheirOutputAndSkipsWithTheirReason(t *testing.T) {
	r := &report{output: map[string][]string{}, skips: map[string][]string{}}
	if err := r.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r.print(&out)
	for _, want := range []string{
		"x_test.go:9: got 1, want 2", "q.go:1: undefined: x", "skipped, because no engine answers:\n  p TestAway", "1 passed, 1 failed, 1 skipped",
		"left out: p a case: this emulator lacks tokens",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "chatter") {
		t.Errorf("the report has the output of a test that passed:\n%s", out.String())
	}
	if r.failed != 1 || len(r.bad) != 3 {
		t.Errorf("%d failed and %q bad, want a test, its package and a build", r.failed, r.bad)
	}
}
