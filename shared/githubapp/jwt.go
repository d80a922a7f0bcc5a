package githubapp

import (
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/berth-dev/berth/shared/berth"
)

// A JSON web token is issued a minute back, for clocks that are ahead of GitHub's,
// and is good for nine minutes from then: GitHub takes ten at most.
const (
	issuedBack = time.Minute
	jwtLife    = 9 * time.Minute
)

// sign makes the token by which the App itself is known.
func (o *opened) sign(now time.Time) (berth.SecretValue, error) {
	issued := now.Add(-issuedBack)
	text, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: o.id, IssuedAt: jwt.NewNumericDate(issued), ExpiresAt: jwt.NewNumericDate(issued.Add(jwtLife)),
	}).SignedString(o.key)
	if err != nil {
		return berth.SecretValue{}, berth.Wrap(err, "signing as the GitHub App")
	}
	return berth.NewSecretValue([]byte(text)), nil
}
