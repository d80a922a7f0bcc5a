package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
)

// fakeKey is a value of the right form.
func fakeKey(c string) string { return "bth_" + strings.Repeat(c, 43) }

func (f *fake) routeKeys(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/keys", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		answer(w, 200, page(f.keys))
	})
	mux.HandleFunc("POST /api/v1/keys", func(w http.ResponseWriter, r *http.Request) {
		var req berth.KeyRequest
		f.body(r, &req)
		f.mu.Lock()
		defer f.mu.Unlock()
		if slices.Contains(req.Scopes, berth.ScopeAdmin) && f.key != "" {
			problemf(berth.CodeForbidden, "this key lacks admin").write(w)
			return
		}
		key := berth.Key{
			ID: berth.KeyID(fmt.Sprintf("01k5m3v9x2qk%014d", len(f.keys))), Name: req.Name, Prefix: "kkkkkkkk", Scopes: req.Scopes, CreatedAt: fakeNow,
		}
		if d, err := req.ExpiresIn.Parse(); err == nil && d > 0 {
			at := fakeNow.Add(d)
			key.ExpiresAt = &at
		}
		f.keys = append(f.keys, key)
		answer(w, 201, berth.IssuedKey{Key: key, Value: fakeKey("k")})
	})
	mux.HandleFunc("DELETE /api/v1/keys/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.keys = slices.DeleteFunc(f.keys, func(k berth.Key) bool { return string(k.ID) == r.PathValue("id") })
		w.WriteHeader(204)
	})
}
