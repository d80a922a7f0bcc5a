package berth

import (
	"slices"
	"time"
)

// KeyID is a lower-case ULID.
type KeyID string

// Key is an API key. Its value is shown once, when it is made; only a hash of it
// is kept.
type Key struct {
	ID        KeyID     `json:"id"`
	Name      string    `json:"name" doc:"Slug; need not be unique"`
	Prefix    string    `json:"prefix" doc:"The first 8 characters of the value behind bth_, to tell keys apart"`
	Scopes    []Scope   `json:"scopes" enum:"read,run,admin,host" doc:"They do not include each other"`
	Host      HostID    `json:"host,omitempty" doc:"The only host that the key speaks for"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	// ExpiresAt is the first moment at which the key no longer counts; nil is never.
	ExpiresAt *time.Time `json:"expires_at"`
	// LastUsedAt is at most a minute behind; nil is never.
	LastUsedAt *time.Time `json:"last_used_at" doc:"Recorded at most once a minute"`
}

// Expired reports whether the key no longer counts at now.
func (k Key) Expired(now time.Time) bool { return k.ExpiresAt != nil && !now.Before(*k.ExpiresAt) }

// Principal is whom the key stands for.
func (k Key) Principal() Principal {
	return Principal{Name: k.Name, Scopes: slices.Clone(k.Scopes), Host: k.Host, Key: k.ID}
}

// IssuedKey is the answer of POST /keys.
type IssuedKey struct {
	Key
	Value string `json:"value,omitempty" doc:"The key itself; shown this once, and absent when the request is repeated"`
}

// KeyRequest is the body of POST /keys.
type KeyRequest struct {
	Name      string   `json:"name" doc:"Slug of 1 to 63 lower-case letters, digits and dashes"`
	Scopes    []Scope  `json:"scopes" enum:"read,run,admin" doc:"One or more; only those that the asking key has"`
	ExpiresIn Duration `json:"expires_in,omitempty" doc:"Such as 30d, at most 365d; never unless given"`
}

// LocalPrincipal is the name of the embedded server's own token, which no key may have.
const LocalPrincipal = "local"

// KeyScopes are the scopes of a key in the order in which they are shown. Host is
// given by the join of a host alone.
var KeyScopes = []Scope{ScopeRead, ScopeRun, ScopeAdmin, ScopeHost}

// ValidateKeyRequest returns every fault of r.
func ValidateKeyRequest(r KeyRequest) []Problem {
	var p Problems
	_, err := ParseSlug("key name", r.Name)
	p.AddError("name", err)
	if r.Name == LocalPrincipal {
		p.Addf("name", "is reserved for the server's own token: choose another")
	}
	if len(r.Scopes) == 0 {
		p.Addf("scopes", "is empty: list one or more of read, run, admin")
	}
	for i, scope := range r.Scopes {
		switch {
		case scope == ScopeHost:
			p.Addf(IndexPath("scopes", i), "is not given here: a host gets its key when it joins")
		case !slices.Contains(KeyScopes, scope):
			p.Addf(IndexPath("scopes", i), "must be read, run or admin")
		case slices.Index(r.Scopes, scope) < i:
			p.Addf(IndexPath("scopes", i), "is there twice")
		}
	}
	_, err = r.ExpiresIn.Parse()
	p.AddError("expires_in", err)
	return p.List()
}

// SortScopes returns scopes in the order of KeyScopes, each once.
func SortScopes(scopes []Scope) []Scope {
	var out []Scope
	for _, scope := range KeyScopes {
		if slices.Contains(scopes, scope) {
			out = append(out, scope)
		}
	}
	return out
}
