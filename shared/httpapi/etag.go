package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// MatchParams are what a change of an environment takes.
type MatchParams struct {
	IfMatch string `header:"If-Match" required:"true" doc:"The ETag that you read, or * for whatever is there" example:"\"3-1f0c2a9b7d3e\""`
}

const headerIfMatch = "header.If-Match"

// etagOf is an environment's entity tag: its version and a hash of what it is.
// The version alone would not do, as it counts from 1 again after a deletion: a
// tag of the environment that was would then match another of the same name.
func etagOf(e records.StoredEnvironment) (string, error) {
	body, err := json.Marshal(e.Environment)
	if err != nil {
		return "", berth.Wrap(err, "hashing environment "+string(e.ID))
	}
	sum := sha256.Sum256(body)
	return `"` + strconv.FormatInt(e.Version, 10) + "-" + hex.EncodeToString(sum[:6]) + `"`, nil
}

// matches reports whether an environment may be changed as it stands. Errors:
// stale, and those of checkSyntax.
func (in MatchParams) matches(e records.StoredEnvironment) error {
	if err := in.checkSyntax(); err != nil {
		return err
	}
	tag, err := etagOf(e)
	if err != nil {
		return err
	}
	return in.matchesTag(tag)
}

func (in MatchParams) matchesTag(present string) error {
	if in.any() {
		return nil
	}
	tags, err := parseTags(strings.TrimSpace(in.IfMatch))
	if err != nil {
		return err
	}
	if slices.Contains(tags, present) {
		return nil
	}
	return errStale(nil)
}

// errStale says that an environment is not what it was any more.
func errStale(cause error) error {
	return &berth.Error{
		Code: berth.CodeStale, Field: headerIfMatch, Message: "was changed since you read it",
		Remediation: "Read it again and repeat your change on what it is now.", Cause: cause,
	}
}

// any reports whether a change is meant for whatever is there.
func (in MatchParams) any() bool { return strings.TrimSpace(in.IfMatch) == "*" }

// checkSyntax is what can be said of the header before the environment is read.
// Errors: precondition_required without it, malformed.
func (in MatchParams) checkSyntax() error {
	switch header := strings.TrimSpace(in.IfMatch); header {
	case "":
		return berth.FieldErrorf(berth.CodePreconditionRequired, headerIfMatch, "is missing: send the ETag that you read")
	case "*":
		return nil
	default:
		_, err := parseTags(header)
		return err
	}
}

// parseTags reads a list of entity tags. Weak ones are well-formed and, as RFC
// 9110 has it, never match.
func parseTags(header string) ([]string, error) {
	malformed := berth.FieldErrorf(berth.CodeMalformed, headerIfMatch, `must be * or entity tags in double quotes, such as "3-1f0c2a9b7d3e"`)
	var tags []string
	for rest := header; ; {
		rest = strings.TrimLeft(rest, " \t")
		tag := rest
		rest = strings.TrimPrefix(rest, "W/")
		if !strings.HasPrefix(rest, `"`) {
			return nil, malformed
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 || strings.ContainsFunc(rest[1:1+end], func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return nil, malformed
		}
		rest = rest[end+2:]
		tags = append(tags, tag[:len(tag)-len(rest)])
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			return tags, nil
		}
		if rest[0] != ',' {
			return nil, malformed
		}
		rest = rest[1:]
	}
}

// CreateOnlyParams are what an upsert takes.
type CreateOnlyParams struct {
	IfNoneMatch string `header:"If-None-Match" doc:"* creates only: one that exists is 412" example:"*"`
}

func (in CreateOnlyParams) createOnly() (bool, error) {
	switch strings.TrimSpace(in.IfNoneMatch) {
	case "":
		return false, nil
	case "*":
		return true, nil
	}
	return false, berth.FieldErrorf(berth.CodeMalformed, "header.If-None-Match", "must be * or absent")
}

// existsAlready turns the conflict of a creation into the failed precondition
// that it is over HTTP.
func existsAlready(err error, createOnly bool) error {
	if createOnly && berth.CodeOf(err) == berth.CodeConflict {
		return berth.FieldErrorf(berth.CodeStale, "header.If-None-Match", "it exists already")
	}
	return err
}
