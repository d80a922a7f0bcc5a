package main

import (
	"crypto/subtle"
	"fmt"
	"net/http"
)

const maxName = 64

// newGreeter answers GET /greet?name=… to those who bring the token.
func newGreeter(c config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /greet", func(w http.ResponseWriter, r *http.Request) {
		if !c.knows(r.Header.Get("Authorization")) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		name := r.URL.Query().Get("name")
		if name == "" || len(name) > maxName {
			http.Error(w, "name must have 1 to 64 bytes", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "%s, %s!\n", c.greeting, name)
	})
	return mux
}

func (c config) knows(header string) bool {
	return subtle.ConstantTimeCompare([]byte(header), []byte("Bearer "+c.token)) == 1
}
