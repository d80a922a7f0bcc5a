package berth_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestSlugsAreCheckedAtBothEnds(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "0", "fabro-dev", "a-", strings.Repeat("a", 63)} {
		if got, err := berth.ParseEnvironmentID(s); err != nil || string(got) != s {
			t.Errorf("ParseEnvironmentID(%q) = %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "-a", "A", "a_b", "a.b", "..", "a/b", "a b", "é", "a\n", strings.Repeat("a", 64), "a%2f"} {
		if got, err := berth.ParseEnvironmentID(s); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("ParseEnvironmentID(%q) = %q, %v; want invalid", s, got, err)
		}
		if _, err := berth.ParseCommandID(s); berth.CodeOf(err) != berth.CodeInvalid {
			t.Errorf("ParseCommandID(%q): %v; want invalid", s, err)
		}
	}
}

func TestRunIDsAreLowerCaseULIDs(t *testing.T) {
	t.Parallel()
	const id = "01jabcdefghjkmnpqrstvwxyz0"
	if !berth.IsULID(id) {
		t.Errorf("IsULID(%q) = false", id)
	}
	for _, s := range []string{"", id[:25], id + "0", strings.ToUpper(id), "81jabcdefghjkmnpqrstvwxyz0", "01jabcdefghijklmnopqrstuv0"} {
		if berth.IsULID(s) {
			t.Errorf("IsULID(%q) = true", s)
		}
	}
	for s, want := range map[string]bool{id: true, id[:6]: true, id[:5]: false, "": false, "local0": false, id + "0": false} {
		if got := berth.IsIDPrefix(s); got != want {
			t.Errorf("IsIDPrefix(%q) = %v, want %v", s, got, want)
		}
	}
	if got := berth.FoldID(" " + strings.ToUpper(id) + "\n"); got != id {
		t.Errorf("FoldID = %q, want %q", got, id)
	}
}

func TestNamesOfVariablesAndSecretsAreThoseOfTokens(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"A", "_", "a1", "DEPLOY_ENV", strings.Repeat("A", berth.MaxNameBytes)} {
		if _, err := berth.ParseName("variable name", s); err != nil {
			t.Errorf("ParseName(%q): %v", s, err)
		}
		if tokens, errs := berth.ScanTokens("{{ vars." + s + " }}"); len(tokens) != 1 || len(errs) > 0 {
			t.Errorf("a token of %q: %v, %v", s, tokens, errs)
		}
	}
	const want = "secret name must be 1 to 128 letters, digits and underscores, and not begin with a digit"
	for _, s := range []string{"", "1A", "A-B", "A.B", "A B", "A/B", "É", "A\n", strings.Repeat("A", berth.MaxNameBytes+1)} {
		if _, err := berth.ParseName("secret name", s); err == nil || err.Error() != want {
			t.Errorf("ParseName(%q): %v, want %q", s, err, want)
		}
	}
}
