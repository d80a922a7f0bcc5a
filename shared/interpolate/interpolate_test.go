package interpolate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/interpolate"
)

var variables = map[string]string{
	"REGION": "eu-1", "EMPTY": "", "BRACES": "{{ goal }} {x}", "TOKEN": "{{ secrets.KEY }}", "VAR": "{{ vars.REGION }}",
	"OPEN": "{{ secrets.", "HALF": "{{ sec", "TAIL": "rets.KEY }}",
}

func lookup(name string) (string, bool, error) {
	v, found := variables[name]
	return v, found, nil
}

func TestVarsReplacesVariablesAndKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                                       "",
		"plain $HOME {x} {{ goal }}":             "plain $HOME {x} {{ goal }}",
		"https://api.{{ vars.REGION }}.example/": "https://api.eu-1.example/",
		"{{vars.REGION}}{{ vars.REGION }}":       "eu-1eu-1",
		"[{{ vars.EMPTY }}]":                     "[]",
		"{{ vars.BRACES }}":                      "{{ goal }} {x}",
		"{{ secrets.KEY }}":                      "{{ secrets.KEY }}",
		"{{ vars.REGION }}:{{secrets.KEY}}!":     "eu-1:{{secrets.KEY}}!",
		"{{{ vars.REGION }}}":                    "{eu-1}",
	} {
		got, err := interpolate.Vars("env.A", value, lookup)
		if err != nil || got != want {
			t.Errorf("Vars(%q) = %q, %v; want %q", value, got, err, want)
		}
	}
}

func TestVarsFailsClosed(t *testing.T) {
	t.Parallel()
	const made = "env.A: refers to a variable whose value makes a {{ }} token: tokens in variables are not replaced"
	for value, want := range map[string]string{
		"{{ vars.GONE }}":                         "env.A: refers to variable GONE, which does not exist",
		"{{ vars.X }}{{ vars.GONE }}{{ vars.X }}": "env.A: refers to variables that do not exist: GONE, X",
		"{{ vars.region }}":                       "env.A: refers to variable region, which does not exist",
		"{{ env.HOME }}":                          "env.A: refers to {{ env.HOME }}: " + berth.EnvTokenHint,
		"{{ secrets.a-b }}":                       "env.A: has a malformed {{ }} token: after vars. or secrets. comes one name of letters, digits and underscores, and nothing else",
		"{{ vars.REGION":                          "env.A: has a {{ token without its closing }}",
		"{{ vars.TOKEN }}":                        made,
		"{{ vars.VAR }}":                          made,
		"{{ vars.OPEN }}":                         made,
		"{{ vars.HALF }}{{ vars.TAIL }}":          made,
		"{{ vars.HALF }}rets.KEY }}":              made,
		"{{ secrets.KEY }}{{ vars.TOKEN }}":       made,
		"{{{{ vars.EMPTY }}{ secrets.KEY }}":      made,
	} {
		got, err := interpolate.Vars("env.A", value, lookup)
		if err == nil || err.Error() != want || berth.CodeOf(err) != berth.CodeInvalid || got != "" {
			t.Errorf("Vars(%q) = %q, %v; want %q", value, got, err, want)
		}
	}
}

func TestVarsKeepsTheCodeOfAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	_, err := interpolate.Vars("env.A", "{{ vars.X }}", func(string) (string, bool, error) {
		return "", false, berth.Errorf(berth.CodeUnavailable, "the table does not answer")
	})
	if berth.CodeOf(err) != berth.CodeUnavailable || !strings.Contains(err.Error(), "reading variable X") {
		t.Errorf("Vars: %v", err)
	}
}

func secretLookup(name string) (berth.SecretValue, error) {
	switch name {
	case "KEY":
		return berth.NewSecretValue([]byte("v\x00{{ secrets.OTHER }}\xff")), nil
	case "OTHER":
		return berth.NewSecretValue([]byte("other")), nil
	}
	return berth.SecretValue{}, berth.Errorf(berth.CodeNotFound, "no such secret")
}

func TestSecretsInsertsValuesByteForByteAndNamesThem(t *testing.T) {
	t.Parallel()
	const key = "v\x00{{ secrets.OTHER }}\xff"
	for value, want := range map[string]struct {
		text string
		used []string
	}{
		"plain {{ goal }}":  {"plain {{ goal }}", nil},
		"{{ secrets.KEY }}": {key, []string{"KEY"}},
		"a{{ secrets.OTHER }}b{{secrets.KEY}}{{ secrets.OTHER }}": {"aotherb" + key + "other", []string{"OTHER", "KEY"}},
	} {
		got, used, err := interpolate.Secrets("env.A", value, secretLookup)
		if err != nil || string(got) != want.text {
			t.Errorf("Secrets(%q) = %q, %v; want %q", value, got, err, want.text)
		}
		if diff := cmp.Diff(want.used, used); diff != "" {
			t.Errorf("Secrets(%q) used (-want +got)\n%s", value, diff)
		}
	}
}

func TestSecretsFailsClosed(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct {
		text string
		code berth.Code
	}{
		"{{ secrets.GONE }}": {"env.A refers to secret GONE: no such secret", berth.CodeNotFound},
		"{{ vars.REGION }}":  {"env.A: still refers to variable REGION", berth.CodeInvalid},
		"{{ env.HOME }}":     {"env.A: refers to {{ env.HOME }}: " + berth.EnvTokenHint, berth.CodeInvalid},
		"{{ secrets.KEY":     {"env.A: has a {{ token without its closing }}", berth.CodeInvalid},
	} {
		got, used, err := interpolate.Secrets("env.A", value, secretLookup)
		if err == nil || err.Error() != want.text || berth.CodeOf(err) != want.code || got != nil || used != nil {
			t.Errorf("Secrets(%q) = %q, %v, %v; want %q", value, got, used, err, want.text)
		}
	}
}

func TestReferencesListsEachNameOnce(t *testing.T) {
	t.Parallel()
	vars, secrets, envs := interpolate.References(map[string]string{
		"A": "{{ vars.B }}{{ vars.A }}{{ secrets.S }}", "B": "{{ vars.A }}{{ env.HOME }}", "C": "{{ secrets.S }}{{ secrets.a-b }}",
	})
	got := [][]string{vars, secrets, envs}
	if diff := cmp.Diff([][]string{{"A", "B"}, {"S"}, {"HOME"}}, got); diff != "" {
		t.Errorf("References (-want +got)\n%s", diff)
	}
}

// Whatever variables hold, the result refers to exactly the secrets that the
// author of the value wrote.
func TestNoVariableCanBringInASecret(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"{", "}", "{{", "}}", " ", "secrets.", "vars.", "env.", "A", "sec", "rets.A", "{{ secrets.A }}", "{{ vars.X }}", "{{ vars.Y }}"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		value := text.Draw(t, "value")
		values := map[string]string{"X": text.Draw(t, "x"), "Y": text.Draw(t, "y")}
		result, err := interpolate.Vars("env.A", value, func(name string) (string, bool, error) {
			v, found := values[name]
			return v, found, nil
		})
		if err != nil {
			return
		}
		written, _ := berth.ScanTokens(value)
		kept, errs := berth.ScanTokens(result)
		secrets := func(tokens []berth.Token) (names []string) {
			for _, t := range tokens {
				if t.Namespace != berth.TokenVars {
					names = append(names, string(t.Namespace)+t.Name)
				}
			}
			return names
		}
		if diff := cmp.Diff(secrets(written), secrets(kept)); diff != "" || len(errs) > 0 || len(kept) != len(secrets(kept)) {
			t.Errorf("Vars(%q) with %q = %q (-written +kept)\n%s", value, values, result, diff)
		}
	})
}

func FuzzSecrets(f *testing.F) {
	f.Add("{{ secrets.KEY }}", "value")
	f.Add("a{{ secrets.K }}b", "{{ secrets.K }}")
	f.Fuzz(func(t *testing.T, value, secret string) {
		asked := 0
		got, _, err := interpolate.Secrets("env.A", value, func(string) (berth.SecretValue, error) {
			asked++
			return berth.NewSecretValue([]byte(secret)), nil
		})
		tokens, errs := berth.ScanTokens(value)
		var e *berth.Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("Secrets(%q): uncoded %v", value, err)
			}
			return
		}
		length := len(value)
		for _, token := range tokens {
			length += len(secret) - (token.End - token.Start)
		}
		if len(errs) > 0 || len(got) != length || asked != len(tokens) {
			t.Fatalf("Secrets(%q) has %d bytes after %d secrets; want %d and %d", value, len(got), asked, length, len(tokens))
		}
	})
}
