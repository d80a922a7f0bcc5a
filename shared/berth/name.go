package berth

// MaxNameBytes is the longest name of a variable or secret.
const MaxNameBytes = 128

var namePattern = lazyPattern(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

const nameRule = "must be 1 to 128 letters, digits and underscores, and not begin with a digit"

// ParseName checks the name of a variable or secret; what names the thing in
// the message ("secret name"). The name is that of a token as well. Error: invalid.
func ParseName(what, s string) (string, error) {
	if namePattern.MatchString(s) {
		return s, nil
	}
	return "", Errorf(CodeInvalid, "%s %s", what, nameRule)
}
