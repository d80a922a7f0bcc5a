package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
)

func TestOnlyCommandLinesThatConnectAreRun(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"ssh token@ssh.example":                                    {"ssh", "token@ssh.example"},
		`ssh -t -F /home/me/ssh.conf box 'cd /w && exec bash -i'`:  {"ssh", "-t", "-F", "/home/me/ssh.conf", "box", "cd /w && exec bash -i"},
		`ssh -t -p 2222 vm@1.2.3.4 'cd '\''/a b'\'' && exec bash'`: {"ssh", "-t", "-p", "2222", "vm@1.2.3.4", "cd '/a b' && exec bash"},
		"ssh":                            nil,
		"ssh -t":                         nil,
		"ssh -o ProxyCommand=evil box":   nil,
		"ssh -oProxyCommand=evil box":    nil,
		"ssh -p -oProxyCommand=evil box": nil,
		"ssh '' id":                      nil,
		"bash -c id":                     nil,
		"/tmp/ssh box":                   nil,
		"ssh box; id":                    nil,
		"ssh box $(id)":                  nil,
		"ssh `id` box":                   nil,
		"ssh box 'unfinished":            nil,
		"ssh box\nid":                    nil,
		"ssh -t -L 80:127.0.0.1:80 box":  nil,
		"ssh -E /home/me/.bashrc box":    nil,
	} {
		got, ok := sshWords(line)
		if ok != (want != nil) || ok && !cmp.Equal(got, want) {
			t.Errorf("sshWords(%q) = %q, %v; want %q", line, got, ok, want)
		}
	}
}

func TestWordsThatWereQuotedAreSplitAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.String(), 1, 6).Draw(t, "words")
		got, ok := splitWords(berth.ShellQuote(words...))
		if !ok || !cmp.Equal(got, words) {
			t.Fatalf("splitWords(%q) = %q, %v", berth.ShellQuote(words...), got, ok)
		}
	})
}
