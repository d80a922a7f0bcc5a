package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFiguresAreReadOfABenchmarksLines(t *testing.T) {
	t.Parallel()
	const out = `goos: linux
BenchmarkTrue/provider-2         	     200	   4640000 ns/op	      12 B/op
BenchmarkTrue/a_kept_connection-2	     200	  17400000 ns/op
BenchmarkTrue-2                  	       1	         1.000 builds/first
BenchmarkOther                   	       1	         7 ns/op
ok  	m	0.1s
`
	want := map[string]float64{"provider ns/op": 4.64e6, "provider B/op": 12, "a_kept_connection ns/op": 1.74e7, "builds/first": 1}
	if diff := cmp.Diff(want, figures([]byte(out), "BenchmarkTrue")); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}
