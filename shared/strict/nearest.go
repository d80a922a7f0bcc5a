package strict

import (
	"slices"
	"strings"
)

const maxListedKeys = 12

func unknownKey(key string, known []string) string {
	if near := Nearest(key, known); near != "" {
		return "is not a known key: did you mean " + near + "?"
	}
	if len(known) == 0 || len(known) > maxListedKeys {
		return "is not a known key"
	}
	return "is not a known key: there are " + strings.Join(known, ", ")
}

// meant asks whether one of the known words was meant; empty when none is near.
// What was written is not repeated: it may be a value that went astray.
func meant(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// Nearest returns the known word that key was most likely meant to be, or the
// empty string: the one with the fewest letters to change, swap, add or drop,
// and no more of them than a third of the word. Case counts for nothing.
func Nearest(key string, known []string) string {
	if len(key) > 64 {
		return ""
	}
	folded := fold(key)
	best, bestDistance := "", 0
	for _, k := range slices.Sorted(slices.Values(known)) {
		limit := max(1, max(len(k), len(key))/3)
		if d := distance(folded, fold(k)); d <= limit && (best == "" || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// distance is the edit distance in which swapping two neighbours counts as one.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
