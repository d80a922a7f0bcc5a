package gitsource

import (
	"context"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// The variables in which the script's credential helper finds the credential.
// They are set for the clone alone.
const (
	userVariable     = "BERTH_GIT_USER"
	passwordVariable = "BERTH_GIT_PASSWORD"
)

// Credential is what git shows to an origin.
type Credential struct {
	User     string
	Password berth.SecretValue
	// New is set of one that was made a moment ago: not every server of the origin
	// may know it yet, so that "not found" is tried again like a network failure.
	New bool
}

// Credentials finds what an origin asks for. Nil, without an error, is that it
// can be read without.
type Credentials interface {
	FindCredential(ctx context.Context, origin string) (*Credential, error)
}

// credential finds and checks it: it goes over https alone, and in the lines of
// git's helper protocol.
func (s Source) credential(ctx context.Context, origin string) (*Credential, error) {
	if s.Credentials == nil {
		return nil, nil
	}
	c, err := s.Credentials.FindCredential(ctx, origin)
	switch {
	case err != nil:
		return nil, berth.Wrap(err, "finding the credential of the target")
	case c == nil:
		return nil, nil
	case !strings.HasPrefix(origin, "https://"):
		return nil, berth.FieldErrorf(berth.CodeInvalid, "target.origin", "needs a credential, which is sent over https alone: write an https:// URL")
	case c.User == "" || c.Password.Len() == 0 || strings.ContainsAny(c.User+string(c.Password.Reveal()), "\x00\r\n"):
		return nil, berth.Errorf(berth.CodeInvalid, "the credential of the target's origin is empty, or has a line end or NUL in it")
	}
	return c, nil
}
