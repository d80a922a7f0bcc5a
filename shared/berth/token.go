package berth

import (
	"errors"
	"strings"
)

// TokenNamespace says what a token refers to.
type TokenNamespace string

// The namespaces. Env is read only to be refused: the process environment is
// not a configuration source.
const (
	TokenVars    TokenNamespace = "vars"
	TokenSecrets TokenNamespace = "secrets"
	TokenEnv     TokenNamespace = "env"
)

// Token is one `{{ namespace.NAME }}` in a value; Start and End are byte
// offsets, End exclusive.
type Token struct {
	Namespace  TokenNamespace
	Name       string
	Start, End int
}

var (
	errTokenOpen = errors.New("has a {{ token without its closing }}")
	errTokenName = errors.New("has a malformed {{ }} token: after vars. or secrets. comes one name of letters, digits and underscores, and nothing else")
)

// ScanTokens finds the tokens of a value, in order. Braces that do not open
// with one of the namespaces and a dot are literal text. What does open so and
// is not well-formed is an error: a typing mistake must not turn a reference
// into text. The errors never hold the value.
func ScanTokens(value string) ([]Token, []error) {
	var tokens []Token
	var errs []error
	for at := 0; ; {
		i := strings.Index(value[at:], "{{")
		if i < 0 {
			return tokens, errs
		}
		start := at + i
		namespace, rest, ok := cutNamespace(value[start+2:])
		if !ok {
			at = start + 1
			continue
		}
		inner, _, closed := strings.Cut(rest[:min(len(rest), maxTokenBytes)], "}}")
		if !closed || strings.Contains(inner, "{{") {
			errs = append(errs, errTokenOpen)
			at = start + 2
			continue
		}
		end := len(value) - len(rest) + len(inner) + len("}}")
		name := strings.TrimRight(inner, tokenSpace)
		switch {
		case !namePattern.MatchString(name):
			errs = append(errs, errTokenName)
		default:
			tokens = append(tokens, Token{namespace, name, start, end})
		}
		at = end
	}
}

// maxTokenBytes bounds the search for the closing braces, which makes the scan
// of a hostile value linear.
const maxTokenBytes = 256

const tokenSpace = " \t\r\n"

// cutNamespace reads `  vars.` and returns what follows the dot.
func cutNamespace(s string) (TokenNamespace, string, bool) {
	s = strings.TrimLeft(s, tokenSpace)
	for _, n := range []TokenNamespace{TokenVars, TokenSecrets, TokenEnv} {
		if rest, ok := strings.CutPrefix(s, string(n)); ok {
			if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, tokenSpace), "."); ok {
				return n, rest, true
			}
		}
	}
	return "", "", false
}
