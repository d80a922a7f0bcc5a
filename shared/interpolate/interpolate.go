// Package interpolate replaces the tokens {{ vars.NAME }} and {{ secrets.NAME }}
// in environment variables. It is plain substitution: many tokens in a value,
// no filters, no recursion; other braces are literal text. {{ env.NAME }} is
// always an error.
package interpolate

import (
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// Lookup finds a variable. found is false when there is none of the name; an
// error means that the store did not answer.
type Lookup func(name string) (value string, found bool, err error)

// SecretLookup finds a token secret. Its errors say why a secret cannot be used.
type SecretLookup func(name string) (berth.SecretValue, error)

// Vars replaces the variables in the value of a field and leaves secrets as
// tokens. Errors: invalid, naming the field, for a missing variable, a malformed
// token, {{ env.NAME }}, and for a variable whose value would bring in a token
// of its own: what a variable holds is text and never refers to anything.
func Vars(field, value string, lookup Lookup) (string, error) {
	tokens, err := scan(field, value)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var kept []berth.Token // the secrets, where they are in the result
	var missing []string
	end := 0
	for _, t := range tokens {
		b.WriteString(value[end:t.Start])
		end = t.End
		if t.Namespace == berth.TokenSecrets {
			start := b.Len()
			b.WriteString(value[t.Start:t.End])
			kept = append(kept, berth.Token{Namespace: t.Namespace, Name: t.Name, Start: start, End: b.Len()})
			continue
		}
		v, found, err := lookup(t.Name)
		switch {
		case err != nil:
			return "", berth.Wrap(err, "reading variable "+t.Name)
		case !found:
			missing = append(missing, t.Name)
		}
		b.WriteString(v)
	}
	if missing = unique(missing); len(missing) == 1 {
		return "", berth.FieldErrorf(berth.CodeInvalid, field, "refers to variable %s, which does not exist", missing[0])
	} else if len(missing) > 1 {
		return "", berth.FieldErrorf(berth.CodeInvalid, field, "refers to variables that do not exist: %s", strings.Join(missing, ", "))
	}
	b.WriteString(value[end:])
	result := b.String()
	if again, errs := berth.ScanTokens(result); len(errs) > 0 || !slices.Equal(again, kept) {
		return "", berth.FieldErrorf(berth.CodeInvalid, field, "refers to a variable whose value makes a {{ }} token: tokens in variables are not replaced")
	}
	return result, nil
}

// Secrets replaces the secrets in a value whose variables are replaced, and
// returns the names that it used, each once, in order. Values are inserted byte
// for byte. Errors: invalid, naming the field, for a malformed token and for one
// that is no secret; what lookup returns, wrapped with the secret's name.
func Secrets(field, value string, lookup SecretLookup) ([]byte, []string, error) {
	tokens, err := scan(field, value)
	if err != nil {
		return nil, nil, err
	}
	var b []byte
	var used []string
	end := 0
	for _, t := range tokens {
		if t.Namespace != berth.TokenSecrets {
			return nil, nil, berth.FieldErrorf(berth.CodeInvalid, field, "still refers to variable %s", t.Name)
		}
		secret, err := lookup(t.Name)
		if err != nil {
			return nil, nil, berth.Wrap(err, field+" refers to secret "+t.Name)
		}
		b = append(append(b, value[end:t.Start]...), secret.Reveal()...)
		end = t.End
		if !slices.Contains(used, t.Name) {
			used = append(used, t.Name)
		}
	}
	return append(b, value[end:]...), used, nil
}

// scan returns the tokens of a value that has no malformed one and none of the
// process environment.
func scan(field, value string) ([]berth.Token, error) {
	tokens, errs := berth.ScanTokens(value)
	if len(errs) > 0 {
		return nil, berth.FieldErrorf(berth.CodeInvalid, field, "%s", errs[0].Error())
	}
	for _, t := range tokens {
		if t.Namespace == berth.TokenEnv {
			return nil, berth.FieldErrorf(berth.CodeInvalid, field, "refers to {{ env.%s }}: %s", t.Name, berth.EnvTokenHint)
		}
	}
	return tokens, nil
}

// References lists the names that the values of env refer to, each once and
// sorted. Malformed tokens are left to validation.
func References(env map[string]string) (vars, secrets, envs []string) {
	for _, value := range env {
		tokens, _ := berth.ScanTokens(value)
		for _, t := range tokens {
			switch t.Namespace {
			case berth.TokenVars:
				vars = append(vars, t.Name)
			case berth.TokenSecrets:
				secrets = append(secrets, t.Name)
			case berth.TokenEnv:
				envs = append(envs, t.Name)
			}
		}
	}
	return unique(vars), unique(secrets), unique(envs)
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
