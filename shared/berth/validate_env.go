package berth

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxEnvValueBytes is the kernel's limit on one NAME=value with its end mark,
// or one argument: exec refuses anything longer.
const MaxEnvValueBytes = 128 * 1024

// MaxEnvVariables is the most variables that an environment or step has.
const MaxEnvVariables = 500

var envName = lazyPattern(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)

// EnvTokenHint is what to do about a reference to the process environment.
const EnvTokenHint = "the process environment is not a configuration source; store the value with `berth var set` or `berth secret set`, and write {{ vars.NAME }} or {{ secrets.NAME }}"

// ValidateEnv checks environment variables under the path of their map: names
// of letters, digits and underscores, values that a process can be given, and
// well-formed tokens. No message holds a value.
func ValidateEnv(field string, env map[string]string) []Problem {
	var p Problems
	if len(env) > MaxEnvVariables {
		p.Addf(field, "has %d variables, more than %d", len(env), MaxEnvVariables)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		at := FieldPath(field, name)
		if !envName.MatchString(name) {
			p.Addf(at, "is no variable name: %s", envNameFault(name))
		}
		validateEnvValue(&p, at, name, env[name])
	}
	return p.List()
}

func envNameFault(name string) string {
	const rule = "use letters, digits and underscores, not a digit first, 255 at most"
	switch {
	case name == "":
		return "it is empty; " + rule
	case strings.Contains(name, "="):
		return "it has an equals sign; " + rule
	case strings.Contains(name, "\x00"):
		return "it has a NUL; " + rule
	}
	return rule
}

func validateEnvValue(p *Problems, at, name, value string) {
	switch {
	case strings.Contains(value, "\x00"):
		p.Addf(at, "has a NUL, which no environment variable can hold")
	case !utf8.ValidString(value):
		p.Addf(at, "is not UTF-8")
	}
	if err := CheckEnvSize(name, value); err != nil {
		p.AddError(at, err)
		return
	}
	tokens, errs := ScanTokens(value)
	for _, err := range errs {
		p.AddError(at, err)
	}
	for _, t := range tokens {
		if t.Namespace == TokenEnv {
			p.Addf(at, "refers to {{ env.%s }}: %s", t.Name, EnvTokenHint)
		}
	}
}

// CheckEnvSize returns invalid, naming the variable, when exec would refuse it
// for its size. Check again after tokens have been replaced.
func CheckEnvSize(name, value string) error {
	if n := len(name) + len("=") + len(value) + 1; n > MaxEnvValueBytes {
		return Errorf(CodeInvalid, "variable %s takes %d bytes, more than the %d that the kernel passes to a process: put it into a file", shownKey(name), n, MaxEnvValueBytes)
	}
	return nil
}
