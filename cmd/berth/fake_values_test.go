package main

import (
	"maps"
	"net/http"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
)

func (f *fake) routeValues(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/variables", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var items []berth.Variable
		for _, name := range slices.Sorted(maps.Keys(f.variables)) {
			items = append(items, berth.Variable{Name: name, Value: f.variables[name], UpdatedAt: fakeNow})
		}
		answer(w, 200, page(items))
	})
	mux.HandleFunc("PUT /api/v1/variables/{name}", func(w http.ResponseWriter, r *http.Request) {
		var req berth.VariableRequest
		f.body(r, &req)
		f.mu.Lock()
		defer f.mu.Unlock()
		name := r.PathValue("name")
		if _, there := f.variables[name]; there && r.Header.Get("If-None-Match") == "*" {
			problemf(berth.CodeStale, "variable %s exists", name).write(w)
			return
		}
		f.variables[name] = req.Value
		answer(w, 200, berth.Variable{Name: name, Value: req.Value})
	})
	mux.HandleFunc("DELETE /api/v1/variables/{name}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if _, there := f.variables[r.PathValue("name")]; !there {
			problemf(berth.CodeNotFound, "variable %s does not exist", r.PathValue("name")).write(w)
			return
		}
		delete(f.variables, r.PathValue("name"))
		w.WriteHeader(204)
	})
	mux.HandleFunc("GET /api/v1/secrets", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var items []berth.Secret
		for _, name := range slices.Sorted(maps.Keys(f.secrets)) {
			items = append(items, berth.Secret{Name: name, Type: f.secrets[name].Type, Description: f.secrets[name].Description, UpdatedAt: fakeNow})
		}
		answer(w, 200, page(items))
	})
	mux.HandleFunc("PUT /api/v1/secrets/{name}", func(w http.ResponseWriter, r *http.Request) {
		var req berth.SecretRequest
		f.body(r, &req)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.secrets[r.PathValue("name")] = req
		answer(w, 200, berth.Secret{Name: r.PathValue("name"), Type: req.Type})
	})
	mux.HandleFunc("DELETE /api/v1/secrets/{name}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.secrets, r.PathValue("name"))
		w.WriteHeader(204)
	})
}
