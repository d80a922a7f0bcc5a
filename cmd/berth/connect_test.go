package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/version"
)

func TestAServerThatLeftItsAddressIsToldToWhoStartedIt(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "")
	for _, test := range []struct {
		name  string
		found embedded.Found
		told  bool
	}{
		{"started there", embedded.Found{Started: true}, false},
		{"started elsewhere", embedded.Found{Started: true, Left: "127.0.0.1:41000"}, true},
		{"found elsewhere", embedded.Found{Left: "127.0.0.1:41000"}, false},
	} {
		test.found.URL, test.found.Version = "http://127.0.0.1:42000", version.Version
		var stderr bytes.Buffer
		c.app(io.Discard, &stderr).greet(test.found, "/data")
		if test.told {
			mustContain(t, test.name, stderr.String(), "127.0.0.1:41000", "http://127.0.0.1:42000", "join again")
		} else {
			mustNotContain(t, test.name, stderr.String(), "127.0.0.1:41000")
		}
	}
}
