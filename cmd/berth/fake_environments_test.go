package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/strict"
)

func (f *fake) putEnvironment(tree map[string]any) {
	id := tree["id"].(string)
	f.environments[id] = tree
	f.versions[id]++
}

func (f *fake) environment(id string) (berth.Environment, string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tree, ok := f.environments[id]
	if !ok {
		return berth.Environment{}, "", false
	}
	e, err := parseEnvironment(tree)
	if err != nil {
		f.t.Errorf("environment %s: %v", id, err)
	}
	return e, fmt.Sprintf(`"%d"`, f.versions[id]), true
}

func (f *fake) routeEnvironments(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/environments", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		ids := slices.Sorted(maps.Keys(f.environments))
		f.mu.Unlock()
		var items []berth.Environment
		for _, id := range ids {
			e, _, _ := f.environment(id)
			items = append(items, e)
		}
		answer(w, 200, page(items))
	})
	mux.HandleFunc("POST /api/v1/environments", func(w http.ResponseWriter, r *http.Request) {
		var tree map[string]any
		f.body(r, &tree)
		id, _ := tree["id"].(string)
		if _, _, there := f.environment(id); there {
			problemf(berth.CodeConflict, "environment %s exists", id).write(w)
			return
		}
		f.store(w, 201, tree)
	})
	mux.HandleFunc("GET /api/v1/environments/{id}", func(w http.ResponseWriter, r *http.Request) {
		if e, etag, ok := f.matched(w, r, false); ok {
			w.Header().Set("ETag", etag)
			answer(w, 200, e)
		}
	})
	mux.HandleFunc("PUT /api/v1/environments/{id}", func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := f.matched(w, r, true); ok {
			var tree map[string]any
			f.body(r, &tree)
			f.store(w, 200, tree)
		}
	})
	mux.HandleFunc("PATCH /api/v1/environments/{id}", func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := f.matched(w, r, true); ok {
			var patch map[string]any
			f.body(r, &patch)
			f.mu.Lock()
			merged := strict.MergePatch(f.environments[r.PathValue("id")], patch).(map[string]any)
			f.mu.Unlock()
			f.store(w, 200, merged)
		}
	})
	mux.HandleFunc("DELETE /api/v1/environments/{id}", func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := f.matched(w, r, true); ok {
			f.mu.Lock()
			delete(f.environments, r.PathValue("id"))
			f.mu.Unlock()
			w.WriteHeader(204)
		}
	})
	mux.HandleFunc("POST /api/v1/environments/{id}/check", func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := f.matched(w, r, false); ok {
			answer(w, 200, f.preflight)
		}
	})
}

// matched finds the environment of a request; with write its If-Match must fit.
func (f *fake) matched(w http.ResponseWriter, r *http.Request, write bool) (berth.Environment, string, bool) {
	e, etag, ok := f.environment(r.PathValue("id"))
	switch {
	case !ok:
		problemf(berth.CodeNotFound, "environment %s does not exist", r.PathValue("id")).write(w)
		return e, "", false
	case write && r.Header.Get("If-Match") == "":
		problemf(berth.CodePreconditionRequired, "If-Match is missing").write(w)
		return e, "", false
	case write && r.Header.Get("If-Match") != etag:
		problemf(berth.CodeStale, "the environment has changed").write(w)
		return e, "", false
	}
	return e, etag, true
}

func (f *fake) store(w http.ResponseWriter, status int, tree map[string]any) {
	e, err := parseEnvironment(tree)
	if err != nil {
		p := problemf(berth.CodeInvalid, "%s", err.Error())
		p.write(w)
		return
	}
	f.mu.Lock()
	f.putEnvironment(tree)
	etag := fmt.Sprintf(`"%d"`, f.versions[string(e.ID)])
	f.mu.Unlock()
	w.Header().Set("ETag", etag)
	answer(w, status, e)
}

// parseEnvironment reads an environment as a server does: strictly, over the
// defaults, with all problems.
func parseEnvironment(tree map[string]any) (berth.Environment, error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return berth.Environment{}, err
	}
	fresh, problems, err := strict.Tree(data)
	if err != nil {
		return berth.Environment{}, err
	}
	e := berth.EnvironmentDefaults()
	problems = append(problems, strict.Decode(fresh, &e, "")...)
	problems = append(problems, berth.ValidateEnvironment(e)...)
	return berth.NormalizeEnvironment(e), berth.Invalid(problems)
}
