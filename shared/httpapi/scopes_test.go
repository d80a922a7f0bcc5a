package httpapi_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/httpapi"
)

// nobody is an id of nothing that is there.
const nobody = "01kjm8e40000000000000zzz00"

// requestOf is a request of a route, about things that are not there.
func requestOf(route httpapi.Route) (line, body string) {
	path := strings.NewReplacer("{id}", nobody, "{name}", "NAME", "{cid}", "cid").Replace(route.Path)
	if route.Takes != "" {
		body = "{}"
	}
	return route.Method + " " + path, body
}

func without(scope berth.Scope) []berth.Scope {
	return slices.DeleteFunc(slices.Clone(berth.KeyScopes), func(s berth.Scope) bool { return s == scope })
}

func TestEveryRouteAsksForItsScopeAndNoOther(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		only, lacking := map[berth.Scope]string{}, map[berth.Scope]string{}
		for _, scope := range berth.KeyScopes {
			grant := berth.Key{Name: "only", Scopes: []berth.Scope{scope}}
			if scope == berth.ScopeHost {
				grant.Host = nobody // a host's key works on its own id only
			}
			_, only[scope] = f.issue(grant)
			_, lacking[scope] = f.issue(berth.Key{Name: "lacking", Scopes: without(scope)})
		}
		for _, route := range httpapi.Routes {
			if route.Scope == berth.ScopeNone {
				continue
			}
			line, body := requestOf(route)
			for _, scope := range berth.KeyScopes {
				resp := c.send(line, body, as(only[scope]))
				if scope == route.Scope || route.Scope == httpapi.ScopeAny {
					if resp.Status == 401 || resp.Status == 403 {
						t.Errorf("%s with the scope %s alone: %d %s", route.ID, scope, resp.Status, resp.Body)
					}
					continue
				}
				p := wantProblem(t, resp, berth.CodeForbidden, nil, route.ID+" with "+string(scope))
				if !strings.HasSuffix(p.Detail, "the scope "+string(route.Scope)) {
					t.Errorf("%s with the scope %s alone: %q does not name what lacks", route.ID, scope, p.Detail)
				}
			}
			if route.Scope != httpapi.ScopeAny {
				c.wantProblem(berth.CodeForbidden, nil, line, body, as(lacking[route.Scope]))
			}
		}
	})
}

func TestEveryRouteRefusesKeysThatDoNotCount(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		hour := f.clock.Now().Add(time.Hour)
		_, expired := f.issue(berth.Key{Name: "expired", Scopes: berth.KeyScopes, ExpiresAt: &hour})
		revoked, value := f.issue(berth.Key{Name: "revoked", Scopes: berth.KeyScopes})
		must(t, f.store.DeleteKey(t.Context(), revoked.ID))
		f.clock.advance(2 * time.Hour)
		headers := map[string]string{
			"no key":              "Authorization: ",
			"another scheme":      "Authorization: Basic " + testToken,
			"an unknown token":    as("nobody's"),
			"an unknown key":      as(access.Prefix + strings.Repeat("A", 43)),
			"an expired key":      as(expired),
			"a revoked key":       as(value),
			"the id of a key":     as(string(revoked.ID)),
			"two tokens":          as(testToken + " " + testToken),
			"a token and a comma": as(testToken + ", Bearer " + testToken),
		}
		for _, route := range httpapi.Routes {
			line, body := requestOf(route)
			for name, header := range ordered(headers) {
				resp := c.send(line, body, header)
				if route.Scope == berth.ScopeNone {
					// The URLs of the embedded routes are signed instead.
					if !route.Embedded && resp.Status == 401 {
						t.Errorf("%s asks for a key", route.ID)
					}
					continue
				}
				wantProblem(t, resp, berth.CodeUnauthenticated, nil, route.ID+" with "+name)
				if resp.Header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s with %s: WWW-Authenticate %q", route.ID, name, resp.Header.Get("WWW-Authenticate"))
				}
			}
		}
	})
}

func TestAReadKeyChecksAndSearchesAndChangesNothing(t *testing.T) {
	bothWithKeys(t, func(t *testing.T, f *fixture, c caller) {
		f.seedRun(runA, sandboxA)
		c.want(201, "POST /environments", `{"id":"ci","provider":"docker"}`)
		_, value := f.issue(berth.Key{Name: "reader", Scopes: []berth.Scope{berth.ScopeRead}})
		key := as(value)
		c.want(200, "POST /preflight", `{"command":["true"]}`, key)
		c.want(200, "POST /environments/ci/check", "", key)
		c.want(200, "POST /sandboxes/"+string(sandboxA)+"/grep", `{"pattern":"x"}`, key)
		c.want(200, "POST /sandboxes/"+string(sandboxA)+"/glob", `{"pattern":"*"}`, key)
		c.want(200, "GET /runs/"+string(runA), "", key)
		c.wantProblem(berth.CodeForbidden, nil, "POST /runs", `{"command":["true"]}`, key)
		c.wantProblem(berth.CodeForbidden, nil, "DELETE /sandboxes/"+string(sandboxA), "", key)
		c.wantProblem(berth.CodeForbidden, nil, "PUT /secrets/S", `{"value":"123456"}`, key)
		c.wantProblem(berth.CodeForbidden, nil, "GET /keys", "", key)
		c.wantProblem(berth.CodeNotFound, nil, "GET /nothing", "", key)
	})
}
