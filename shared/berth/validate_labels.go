package berth

import (
	"maps"
	"slices"
	"strings"
)

// The limits of labels. They fit every provider that takes labels.
const (
	MaxLabels          = 64
	maxLabelKeyBytes   = 128
	maxLabelValueBytes = 256
)

// ReservedLabelPrefix begins the labels that berth sets itself.
const ReservedLabelPrefix = "berth."

var labelKey = lazyPattern(`^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$`)

// ValidateLabels checks labels under the path of their map.
func ValidateLabels(field string, labels map[string]string) []Problem {
	var p Problems
	if len(labels) > MaxLabels {
		p.Addf(field, "has %d labels, more than %d", len(labels), MaxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := FieldPath(field, key)
		switch {
		case len(key) > maxLabelKeyBytes || !labelKey.MatchString(key):
			p.Addf(at, "is no label name: 1 to %d letters, digits, dots, dashes, underscores and slashes, with a letter or digit at both ends", maxLabelKeyBytes)
		case strings.HasPrefix(key, ReservedLabelPrefix):
			p.Addf(at, "begins with %s, which is kept for labels that berth sets", ReservedLabelPrefix)
		}
		switch value := labels[key]; {
		case len(value) > maxLabelValueBytes:
			p.Addf(at, "has %d bytes, more than %d", len(value), maxLabelValueBytes)
		case badText(value):
			p.Addf(at, "has a control character or is not UTF-8")
		}
	}
	return p.List()
}
