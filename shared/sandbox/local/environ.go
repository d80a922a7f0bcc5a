package local

import "strings"

// secretSuffixes end the names of variables that are for the server alone.
var secretSuffixes = []string{"_API_KEY", "_SECRET", "_TOKEN", "_PASSWORD", "_CREDENTIAL"}

// safeNames are always passed on.
var safeNames = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "SHELL": true, "LANG": true, "TERM": true, "TMPDIR": true, "GOPATH": true,
	"CARGO_HOME": true, "NVM_DIR": true,
}

// FilterEnviron drops from a server's environment what commands must not see:
// names that end, in any case, as those of secrets do, and berth's own.
func FilterEnviron(environ []string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if safeNames[name] || !private(strings.ToUpper(name)) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func private(name string) bool {
	for _, suffix := range secretSuffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.HasPrefix(name, "BERTH_")
}
