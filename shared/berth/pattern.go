package berth

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled when it is first used. The
// domain has two dozen, and a command line that parses no image reference
// should not pay for one at its start.
type pattern struct {
	compiled func() *regexp.Regexp
}

func lazyPattern(source string) pattern {
	return pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
}

func (p pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

func (p pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }
