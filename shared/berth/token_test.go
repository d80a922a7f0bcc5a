package berth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

func TestScanTokensFindsTokensAndLeavesOtherBraces(t *testing.T) {
	t.Parallel()
	v, s, e := berth.TokenVars, berth.TokenSecrets, berth.TokenEnv
	for value, want := range map[string][]berth.Token{
		"":                              nil,
		"plain":                         nil,
		"{{ vars.A }}":                  {{v, "A", 0, 12}},
		"{{vars.A}}":                    {{v, "A", 0, 10}},
		"a{{ vars.A }}b{{ secrets.B }}": {{v, "A", 1, 13}, {s, "B", 14, 29}},
		"{{ env.HOME }}":                {{e, "HOME", 0, 14}},
		"{{ vars.A }}{{ vars.A }}":      {{v, "A", 0, 12}, {v, "A", 12, 24}},
		"{{ goal }} {{ inputs.X }} {x}": nil,
		"{{ var.A }} {{ Vars.A }}":      nil,
		"{{ vars }}":                    nil,
		"{ { vars.A } }":                nil,
		"{{{ vars.A }}}":                {{v, "A", 1, 13}},
		"{{ x {{ vars.A }} }}":          {{v, "A", 5, 17}},
		"é{{ vars.A }}":                 {{v, "A", 2, 14}},
	} {
		got, errs := berth.ScanTokens(value)
		if diff := cmp.Diff(want, got); diff != "" || len(errs) > 0 {
			t.Errorf("ScanTokens(%q): %v, (-want +got)\n%s", value, errs, diff)
		}
	}
}

func TestScanTokensRefusesWhatLooksLikeATokenAndIsNone(t *testing.T) {
	t.Parallel()
	const (
		open = "has a {{ token without its closing }}"
		name = "has a malformed {{ }} token: after vars. or secrets. comes one name of letters, digits and underscores, and nothing else"
	)
	for value, want := range map[string]string{
		"{{ vars.A":              open,
		"{{ secrets.A }":         open,
		"{{ vars.A {{ vars.B }}": open,
		"{{ vars. }}":            name,
		"{{ vars.a-b }}":         name,
		"{{ vars.1A }}":          name,
		"{{ vars.A.B }}":         name,
		"{{ vars.A | upper }}":   name,
		"{{ secrets.A B }}":      name,
		"{{ secrets.É }}":        name,
		"{{ secrets . x }}":      name,
		"{{ vars.A\x00 }}":       name,
		"{{ vars." + strings.Repeat("A", 129) + " }}": name,
	} {
		_, errs := berth.ScanTokens(value)
		if len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("ScanTokens(%q): got %v, want %q", value, errs, want)
		}
	}
}

func TestScanTokensGoesOnAfterAMalformedToken(t *testing.T) {
	t.Parallel()
	tokens, errs := berth.ScanTokens("{{ vars.a-b }}{{ vars.C }}")
	if len(errs) != 1 || len(tokens) != 1 || tokens[0].Name != "C" {
		t.Errorf("got %v and %v, want one error and C", tokens, errs)
	}
}

func FuzzScanTokens(f *testing.F) {
	for _, seed := range []string{"{{ vars.A }}", "{{ secrets.A", "{{{{ env.X }}}}", "{{ vars.{{ vars.A }} }}", "\xff{{vars.A}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		tokens, _ := berth.ScanTokens(value)
		end := 0
		for _, token := range tokens {
			text := value[token.Start:token.End]
			if token.Start < end || !strings.HasPrefix(text, "{{") || !strings.HasSuffix(text, "}}") || !strings.Contains(text, "."+token.Name) {
				t.Fatalf("ScanTokens(%q) has %+v, which is %q", value, token, text)
			}
			end = token.End
		}
	})
}
