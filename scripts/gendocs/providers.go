package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// column is one way to a provider that the contract suite is run against.
type column struct {
	title string
	pkg   string // below shared/sandbox
	test  string
	// mark says how a rule that holds was seen.
	mark string
}

// How a rule was seen: on the real thing, on a server of the project's own that
// is held to the provider's API description, or on one that is held to nothing
// but its documentation.
const (
	seenReal     = "●"
	seenContract = "◐"
	seenServer   = "○"
)

var columns = []column{
	{"local", "local", "TestLocalKeepsTheContractOfProviders", seenReal},
	{"docker", "docker", "TestDockerKeepsTheContractOfProviders", seenReal},
	{"docker, by a host agent", "remote", "TestRemoteKeepsTheContractOnDocker", seenReal},
	{"docker, far engine", "docker", "TestDockerKeepsTheContractOfProvidersOverAttachedStreams", seenReal},
	{"ssh", "ssh", "TestSSHKeepsTheContractOfProviders", seenReal},
	{"exe", "exe", "TestExeKeepsTheContractOfProviders", seenServer},
	{"daytona", "daytona", "TestDaytonaKeepsTheContractOfProviders", seenContract},
	{"sprites", "sprites", "TestSpritesKeepTheContractOfProviders", seenServer},
}

// groups are those of sandboxtest, in its order.
var groups = []string{
	"lifecycle", "commands", "identity", "ending", "input", "output", "masking", "limits", "files", "guard", "search", "streams", "owner", "volume",
}

// wholeGroups are those that are one rule, by what it is.
var wholeGroups = map[string]string{"volume": "100 MB of output reach three readers in bounded memory"}

// verdicts says of a column's rules what became of them.
type verdicts map[rule]bool

// rule is one test of the suite.
type rule struct{ group, name string }

// ran is what a stream of `go test -json` tells of the suite.
type ran map[column]verdicts

// readRan reads the stream. A rule holds in a column when it passed somewhere and
// failed nowhere: a column may run it on several images, some of which lack what
// it needs.
func readRan(in io.Reader) (ran, error) {
	found := ran{}
	failed := map[column]map[rule]bool{}
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var e struct{ Action, Package, Test string }
		if json.Unmarshal(scan.Bytes(), &e) != nil || e.Test == "" {
			continue // the tool's own words
		}
		top, path, _ := strings.Cut(e.Test, "/")
		i := slices.IndexFunc(columns, func(c column) bool {
			return c.test == top && strings.HasSuffix(e.Package, "/shared/sandbox/"+c.pkg)
		})
		r, ok := parseRule(path)
		if i < 0 || !ok {
			continue
		}
		c := columns[i]
		if found[c] == nil {
			found[c], failed[c] = verdicts{}, map[rule]bool{}
		}
		switch e.Action {
		case "pass":
			found[c][r] = !failed[c][r]
		case "fail":
			found[c][r], failed[c][r] = false, true
		case "skip":
			if _, known := found[c][r]; !known {
				found[c][r] = false // a row of its own, at least
			}
		}
	}
	return found, scan.Err()
}

// parseRule finds a rule in the path of a subtest: what comes after the group,
// whatever comes before it.
func parseRule(path string) (rule, bool) {
	parts := strings.Split(path, "/")
	i := slices.IndexFunc(parts, func(part string) bool { return slices.Contains(groups, part) })
	if i < 0 || i+1 < len(parts)-1 {
		return rule{}, false
	}
	if i == len(parts)-1 { // a group's own verdict counts where it is one rule
		name, whole := wholeGroups[parts[i]]
		return rule{parts[i], name}, whole
	}
	return rule{parts[i], strings.ReplaceAll(parts[i+1], "_", " ")}, true
}

// missing are the columns whose suite did not run.
func (r ran) missing() []string {
	var titles []string
	for _, c := range columns {
		if len(r[c]) == 0 {
			titles = append(titles, c.title)
		}
	}
	return titles
}

// render is a table a group, a row a rule.
func (r ran) render() string {
	rules := map[rule]bool{}
	for _, v := range r {
		for k := range v {
			rules[k] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(rules), func(a, b rule) int {
		return cmp.Or(slices.Index(groups, a.group)-slices.Index(groups, b.group), strings.Compare(a.name, b.name))
	})
	var text strings.Builder
	group := ""
	for _, k := range all {
		if k.group != group {
			group = k.group
			r.head(&text, group)
		}
		fmt.Fprintf(&text, "| %s |", k.name)
		for _, c := range columns {
			mark := "–"
			if r[c][k] {
				mark = c.mark
			}
			fmt.Fprintf(&text, " %s |", mark)
		}
		text.WriteString("\n")
	}
	return text.String()
}

func (ran) head(text *strings.Builder, group string) {
	if text.Len() > 0 {
		text.WriteString("\n")
	}
	fmt.Fprintf(text, "| %s |", group)
	for _, c := range columns {
		fmt.Fprintf(text, " %s |", c.title)
	}
	text.WriteString("\n|---|" + strings.Repeat(":-:|", len(columns)) + "\n")
}
