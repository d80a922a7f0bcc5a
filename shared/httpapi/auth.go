package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
)

// Authenticator says who sends a request. Errors: unauthenticated.
type Authenticator interface {
	Authenticate(r *http.Request) (berth.Principal, error)
}

// TokenAuthenticator says whom a bearer token stands for. Errors: unauthenticated.
type TokenAuthenticator interface {
	Authenticate(ctx context.Context, token string) (berth.Principal, error)
}

// BearerTokens authenticates requests by their bearer token.
func BearerTokens(tokens TokenAuthenticator) Authenticator { return bearerTokens{tokens} }

// StaticToken authenticates by one bearer token alone, that of an embedded server.
func StaticToken(token string) Authenticator { return BearerTokens(access.NewToken(token)) }

type bearerTokens struct{ tokens TokenAuthenticator }

func (b bearerTokens) Authenticate(r *http.Request) (berth.Principal, error) {
	token, err := BearerToken(r)
	if err != nil {
		return berth.Principal{}, err
	}
	return b.tokens.Authenticate(r.Context(), token)
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
