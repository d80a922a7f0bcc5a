package main

import (
	"fmt"
	"os"
	"strings"
)

const providersPage = "docs/providers.md"

// writeProviders makes the page of providers from a stream of `go test -json`,
// or with check says whether the page claims what the stream has not shown. A
// stream without some column's suite can show nothing of it: that is an error
// when everything is required, and a word about it otherwise.
func writeProviders(stream string, check, required bool) error {
	in, err := os.Open(stream)
	if err != nil {
		return fmt.Errorf("reading what the tests said: %w", err)
	}
	defer in.Close()
	found, err := readRan(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", stream, err)
	}
	if missing := found.missing(); len(missing) > 0 {
		err := fmt.Errorf("the suite did not run on: %s", strings.Join(missing, ", "))
		if check && !required {
			fmt.Printf("%s is not checked: %v\n", providersPage, err)
			return nil
		}
		return err
	}
	p := page{path: providersPage, name: "providers", render: found.render}
	if !check {
		return p.write()
	}
	text, err := os.ReadFile(p.path)
	if err != nil {
		return fmt.Errorf("reading the page: %w", err)
	}
	want, err := p.replace(string(text))
	if err == nil && want != string(text) {
		err = fmt.Errorf("%s is not what the suite has shown: run make providers", p.path)
	}
	return err
}
