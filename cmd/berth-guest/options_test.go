//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/guest/proctree"
)

func TestOptionsAreReadAsBerthWritesThem(t *testing.T) {
	t.Parallel()
	type values struct {
		Dir, Bash string
		Tag       proctree.Tag
		Init      bool
		Life      time.Duration
	}
	for _, c := range []struct {
		name string
		args []string
		want values
		bad  string
	}{
		{"none leaves what is there", nil, values{Bash: "/bin/bash"}, ""},
		{"all", []string{"-dir", "/d", "-init", "-tag", "18446744073709551615", "-bash", "/b"}, values{"/d", "/b", 1<<64 - 1, true, 0}, ""},
		{"a time", []string{"-life", "1m30s"}, values{Bash: "/bin/bash", Life: 90 * time.Second}, ""},
		{"a time without a unit", []string{"-life", "90"}, values{}, `-life is "90": time: missing unit in duration "90"`},
		{"a value that looks like a flag", []string{"-dir", "-init"}, values{Dir: "-init", Bash: "/bin/bash"}, ""},
		{"an empty value", []string{"-bash", ""}, values{}, ""},
		{"one that is not known", []string{"-dir", "/d", "-other", "x"}, values{}, `there is no flag "-other"`},
		{"one without its dash", []string{"dir", "/d"}, values{}, `there is no flag "dir"`},
		{"an empty argument", []string{""}, values{}, `there is no flag ""`},
		{"one without its value", []string{"-init", "-dir"}, values{}, "-dir has no value"},
		{"a tag that is no number", []string{"-tag", "-1"}, values{}, `-tag is "-1": strconv.ParseUint: parsing "-1": invalid syntax`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := values{Bash: "/bin/bash"}
			err := options{"dir": &got.Dir, "bash": &got.Bash, "tag": &got.Tag, "init": &got.Init, "life": &got.Life}.read(c.args)
			switch {
			case c.bad != "" && (err == nil || err.Error() != c.bad):
				t.Errorf("%v, want %s", err, c.bad)
			case c.bad == "" && err != nil:
				t.Error(err)
			case c.bad == "":
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
