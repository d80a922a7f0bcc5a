package httpapi

import (
	"strconv"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// MatchParams are what a change of an environment takes.
type MatchParams struct {
	IfMatch string `header:"If-Match" required:"true" doc:"The ETag that you read, or * for whatever is there" example:"\"3\""`
}

const headerIfMatch = "header.If-Match"

// etag is a version as an entity tag.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// matches reports whether a resource of this version may be changed. Errors:
// precondition_required without the header, malformed, stale.
func (in MatchParams) matches(version int64) error {
	header := strings.TrimSpace(in.IfMatch)
	switch header {
	case "":
		return berth.FieldErrorf(berth.CodePreconditionRequired, headerIfMatch, "is missing: send the ETag that you read")
	case "*":
		return nil
	}
	tags, err := parseTags(header)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if tag == etag(version) {
			return nil
		}
	}
	return &berth.Error{
		Code: berth.CodeStale, Field: headerIfMatch, Message: "was changed since you read it",
		Remediation: "Read it again and repeat your change on what it is now.",
	}
}

// checkSyntax is matches before the resource is read.
func (in MatchParams) checkSyntax() error {
	if header := strings.TrimSpace(in.IfMatch); header != "" && header != "*" {
		_, err := parseTags(header)
		return err
	}
	if strings.TrimSpace(in.IfMatch) == "" {
		return in.matches(0)
	}
	return nil
}

// parseTags reads a list of entity tags. Weak ones are well-formed and, as RFC
// 9110 has it, never match.
func parseTags(header string) ([]string, error) {
	malformed := berth.FieldErrorf(berth.CodeMalformed, headerIfMatch, `must be * or entity tags in double quotes, such as "3"`)
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
