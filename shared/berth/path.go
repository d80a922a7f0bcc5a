package berth

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const maxShownKey = 64 // bytes of a strange key that a location shows

// FieldPath appends a key to the path of a field: `env` and `NAME` give
// `env.NAME`. A key that is no plain word is quoted, `labels["a.b"]`, cut to 64
// bytes, and cut after an equals sign, behind which people paste secrets.
func FieldPath(parent, key string) string {
	if !plainKey(key) {
		return parent + "[" + strconv.Quote(shownKey(key)) + "]"
	}
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// IndexPath appends a list index: `network.allow` and 0 give `network.allow[0]`.
func IndexPath(parent string, i int) string {
	return parent + "[" + strconv.Itoa(i) + "]"
}

func plainKey(key string) bool {
	if key == "" || len(key) > maxShownKey {
		return false
	}
	for _, r := range key {
		word := r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !word {
			return false
		}
	}
	return true
}

func shownKey(key string) string {
	if name, _, found := strings.Cut(key, "="); found {
		key = name + "=…"
	}
	if len(key) <= maxShownKey {
		return key
	}
	cut := maxShownKey
	for cut > 0 && !utf8.RuneStart(key[cut]) {
		cut--
	}
	return key[:cut] + "…"
}
