package githubtest

import (
	"net/http"
	"strings"
)

// git serves the repositories over git's smart HTTP. As GitHub does, it tells
// nobody whether a repository exists that they may not read.
func (s *Server) git(w http.ResponseWriter, r *http.Request) {
	if s.watch != nil {
		s.watch(r)
	}
	owner, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	name, path, _ := strings.Cut(rest, "/")
	backend := s.admit(w, r, owner, strings.TrimSuffix(name, ".git"), "/"+name+"/"+path)
	if backend == nil {
		return
	}
	r.URL.Path = "/repository.git/" + path
	backend.ServeHTTP(w, r)
}

// admit returns what serves the request; nil when it was answered.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, owner, name, path string) http.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed(w, "git") {
		return nil
	}
	user, password, shown := r.BasicAuth()
	for _, have := range s.repositories {
		if have.Formerly != "" && strings.EqualFold(owner+"/"+name, have.Formerly) && (have.Public || shown) {
			_, file, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
			http.Redirect(w, r, s.URL+"/"+have.Owner+"/"+have.Name+".git/"+file+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return nil
		}
		if have.is(owner, name) && (have.Public || shown && user == "x-access-token" && s.opens(password, have)) {
			return have.Handler()
		}
	}
	if shown {
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return nil
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
	http.Error(w, "Repository not found.", http.StatusUnauthorized)
	return nil
}

// opens reports whether a token is good for a repository, now and here.
func (s *Server) opens(password string, r *Repository) bool {
	for _, m := range s.minted {
		if m.Token != password || m.Repository != r.Owner+"/"+r.Name || m.Permissions["contents"] == "" {
			continue
		}
		if m.unseen > 0 {
			m.unseen--
			return false
		}
		return s.now().Before(m.expires)
	}
	return false
}
