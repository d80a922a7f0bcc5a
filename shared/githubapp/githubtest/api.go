package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v3/app", s.api("app", s.app))
	mux.HandleFunc("GET /api/v3/repos/{owner}/{name}/installation", s.api("installation", s.installation))
	mux.HandleFunc("GET /api/v3/repositories/{id}/installation", s.api("installation", s.installation))
	mux.HandleFunc("POST /api/v3/app/installations/{id}/access_tokens", s.api("tokens", s.tokens))
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "Not Found") })
	mux.HandleFunc("/", s.git)
	return mux
}

// api checks who asks, and lets faults go first.
func (s *Server) api(route string, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, r.Method+" "+r.URL.Path)
		w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
		if s.failed(w, route) {
			return
		}
		if why := s.check(r.Header.Get("Authorization")); why != "" {
			refuse(w, http.StatusUnauthorized, why)
			return
		}
		answer(w, r)
	}
}

func (s *Server) failed(w http.ResponseWriter, route string) bool {
	if len(s.faults[route]) == 0 {
		return false
	}
	f := s.faults[route][0]
	s.faults[route] = s.faults[route][1:]
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	for name, value := range f.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(f.Status)
	if f.Body == "" {
		f.Body = fmt.Sprintf(`{"message":%q}`, http.StatusText(f.Status))
	}
	_, _ = w.Write([]byte(f.Body))
	return true
}

// check verifies an App's JSON web token as GitHub does, and returns its words.
func (s *Server) check(authorization string) string {
	text, ok := strings.CutPrefix(authorization, "Bearer ")
	if !ok {
		return "Requires authentication"
	}
	var claims jwt.RegisteredClaims
	_, err := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation()).
		ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) { return &s.key.PublicKey, nil })
	now := s.now()
	switch {
	case err != nil:
		return "A JSON web token could not be decoded"
	case claims.Issuer != AppID:
		return "'Issuer' claim ('iss') must be the App's id"
	case claims.IssuedAt == nil || claims.IssuedAt.After(now.Add(time.Second)):
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case claims.ExpiresAt == nil || !claims.ExpiresAt.After(now):
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case claims.ExpiresAt.After(now.Add(10*time.Minute + time.Second)):
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}

func (s *Server) app(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{"id": 1234567, "slug": Slug, "html_url": s.URL + "/github-apps/" + Slug})
}

func (s *Server) installation(w http.ResponseWriter, r *http.Request) {
	for _, have := range s.repositories {
		byID := r.PathValue("id") == strconv.FormatInt(have.id, 10)
		if have.Formerly != "" && strings.EqualFold(r.PathValue("owner")+"/"+r.PathValue("name"), have.Formerly) {
			http.Redirect(w, r, s.URL+"/api/v3/repositories/"+strconv.FormatInt(have.id, 10)+"/installation", http.StatusMovedPermanently)
			return
		}
		if have.Installation == 0 || !byID && !have.is(r.PathValue("owner"), r.PathValue("name")) {
			continue
		}
		at := map[string]any{
			"id": have.Installation, "permissions": map[string]string{"contents": "write", "metadata": "read"}, "suspended_at": nil,
			"html_url": fmt.Sprintf("%s/organizations/%s/settings/installations/%d", s.URL, have.Owner, have.Installation),
		}
		if have.Suspended {
			at["suspended_at"] = "2026-01-02T03:04:05Z"
		}
		if have.Without {
			at["permissions"] = map[string]string{"metadata": "read"}
		}
		write(w, http.StatusOK, at)
		return
	}
	refuse(w, http.StatusNotFound, "Not Found")
}

// tokens mints a token for exactly one repository, which is all that is asked of it.
func (s *Server) tokens(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Names       []string          `json:"repositories"`
		IDs         []int64           `json:"repository_ids"`
		Permissions map[string]string `json:"permissions"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Names)+len(body.IDs) != 1 || body.Permissions["contents"] != "read" || len(body.Permissions) != 1 {
		refuse(w, http.StatusUnprocessableEntity, "a token for more than the contents of one repository was asked for")
		return
	}
	i := slices.IndexFunc(s.repositories, func(have *Repository) bool {
		return strconv.FormatInt(have.Installation, 10) == r.PathValue("id") &&
			(slices.Contains(body.IDs, have.id) || slices.ContainsFunc(body.Names, func(n string) bool { return strings.EqualFold(n, have.Name) }))
	})
	if i < 0 {
		refuse(w, http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
		return
	}
	m := &Minted{
		Token: newToken(), Repository: s.repositories[i].Owner + "/" + s.repositories[i].Name, Permissions: body.Permissions,
		unseen: s.lag, expires: s.now().Add(time.Hour).Truncate(time.Second),
	}
	s.minted = append(s.minted, m)
	write(w, http.StatusCreated, map[string]any{"token": m.Token, "expires_at": m.expires.UTC(), "permissions": m.Permissions, "repository_selection": "selected"})
}

func (r *Repository) is(owner, name string) bool {
	return strings.EqualFold(r.Owner, owner) && strings.EqualFold(r.Name, name)
}

func refuse(w http.ResponseWriter, status int, message string) {
	write(w, status, map[string]string{"message": message, "documentation_url": "https://docs.github.com/rest"})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
