package berth

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used. The
// domain has two dozen, and a command line that parses no image reference
// should not pay for one at its start, nor should the guest carry any: as plain
// data, what a program does not use is not linked.
type pattern struct {
	source string
	once   sync.Once
	regexp *regexp.Regexp
}

func lazyPattern(source string) *pattern { return &pattern{source: source} }

func (p *pattern) compiled() *regexp.Regexp {
	p.once.Do(func() { p.regexp = regexp.MustCompile(p.source) })
	return p.regexp
}

func (p *pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

func (p *pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }
