package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// Authenticator says who sends a request. Errors: unauthenticated.
type Authenticator interface {
	Authenticate(r *http.Request) (berth.Principal, error)
}

// StaticToken is the embedded server's authenticator: one bearer token with
// every scope but that of hosts.
func StaticToken(token string) Authenticator {
	return staticToken(sha256.Sum256([]byte(token)))
}

type staticToken [sha256.Size]byte

func (t staticToken) Authenticate(r *http.Request) (berth.Principal, error) {
	token, err := BearerToken(r)
	if err != nil {
		return berth.Principal{}, err
	}
	// Hashes have one length, so the comparison tells nothing about the token's.
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], t[:]) != 1 {
		return berth.Principal{}, berth.Errorf(berth.CodeUnauthenticated, "the bearer token is not known")
	}
	return berth.Principal{Name: "local", Scopes: []berth.Scope{berth.ScopeRead, berth.ScopeRun, berth.ScopeAdmin}}, nil
}

// BearerToken reads the Authorization header. Errors: unauthenticated.
func BearerToken(r *http.Request) (string, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return "", berth.Errorf(berth.CodeUnauthenticated, "the Authorization header is missing: send a bearer token")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", berth.Errorf(berth.CodeUnauthenticated, "the Authorization header must be Bearer and one token")
	}
	return token, nil
}

// checkScope returns forbidden when who may not use a route.
func checkScope(who berth.Principal, route Route) error {
	if route.Scope == ScopeAny || slices.Contains(who.Scopes, route.Scope) {
		return nil
	}
	return berth.Errorf(berth.CodeForbidden, "%s needs a key with the scope %s", route.ID, route.Scope)
}
