package remote

import (
	"strings"
	"unicode"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

const (
	maxText     = 4 << 10 // bytes of one text that a host says
	maxProblems = 64
	replacement = string(unicode.ReplacementChar)
)

// plain makes what a host says fit for records and errors, whoever has taken the
// host over: no control characters but newlines and tabs, and not without end.
func plain(s string) string {
	long := len(s) > maxText
	if long {
		s = s[:maxText]
	}
	s = strings.ToValidUTF8(s, replacement)
	if long { // the last character may have been cut
		s = strings.TrimSuffix(s, replacement)
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
	if long {
		s += "…"
	}
	return s
}

// plainError is the error that an agent has answered.
func plainError(e *berth.Error) *berth.Error {
	e.Message, e.Field, e.Remediation = plain(e.Message), plain(e.Field), plain(e.Remediation)
	e.Problems = e.Problems[:min(len(e.Problems), maxProblems)]
	for i, p := range e.Problems {
		e.Problems[i] = berth.Problem{Location: plain(p.Location), Message: plain(p.Message)}
	}
	return e
}

func plainHealth(h agentapi.Health) agentapi.Health {
	h.Version, h.Installation = plain(h.Version), berth.InstallationID(plain(string(h.Installation)))
	h.Providers = h.Providers[:min(len(h.Providers), maxProblems)]
	for i := range h.Providers {
		h.Providers[i].Problem = plain(h.Providers[i].Problem)
	}
	return h
}
