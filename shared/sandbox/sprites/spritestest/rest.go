//go:build linux

package spritestest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (s *Sprite) shown() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	labels := s.labels
	if labels == nil {
		labels = []string{}
	}
	return map[string]any{
		"id": "sprite-" + s.Mark, "name": s.Name, "organization": Org, "status": s.status, "url": s.url,
		"url_settings": map[string]string{"auth": s.auth}, "labels": labels, "created_at": s.created, "updated_at": s.created,
		"version": "v1",
	}
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name        string   `json:"name"`
		Labels      []string `json:"labels"`
		URLSettings struct {
			Auth string `json:"auth"`
		} `json:"url_settings"`
	}
	switch err := json.NewDecoder(r.Body).Decode(&body); {
	case err != nil || !namePattern.MatchString(body.Name):
		refuse(w, http.StatusBadRequest, "bad_request", "name is invalid")
	case s.Find(body.Name) != nil:
		refuse(w, http.StatusBadRequest, "name_taken", "a sprite with name "+body.Name+" already exists")
	default:
		sprite, err := s.add(body.Name, body.Labels, body.URLSettings.Auth)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "internal", err.Error())
			return
		}
		reply(w, http.StatusCreated, sprite.shown())
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	limit, err := strconv.Atoi(r.URL.Query().Get("max_results"))
	if err != nil || limit < 1 || limit > 50 {
		refuse(w, http.StatusBadRequest, "bad_request", "max_results must be from 1 to 50")
		return
	}
	s.mu.Lock()
	limit = min(limit, s.pageSize)
	s.mu.Unlock()
	page := []map[string]any{}
	next := ""
	for _, sprite := range s.Sprites() {
		if !strings.HasPrefix(sprite.Name, r.URL.Query().Get("prefix")) || sprite.Name <= r.URL.Query().Get("continuation_token") {
			continue
		}
		if len(page) == limit {
			next = page[limit-1]["name"].(string)
			break
		}
		page = append(page, sprite.shown())
	}
	reply(w, http.StatusOK, map[string]any{"sprites": page, "has_more": next != "", "next_continuation_token": next})
}

func (s *Server) show(w http.ResponseWriter, _ *http.Request, sprite *Sprite) {
	reply(w, http.StatusOK, sprite.shown())
}

func (s *Server) change(w http.ResponseWriter, r *http.Request, sprite *Sprite) {
	var body struct {
		Labels      []string `json:"labels"`
		Clear       bool     `json:"clear_labels"`
		URLSettings *struct {
			Auth string `json:"auth"`
		} `json:"url_settings"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		refuse(w, http.StatusBadRequest, "bad_request", "the body is no JSON")
		return
	}
	sprite.mu.Lock()
	if body.Clear || len(body.Labels) > 0 {
		sprite.labels = body.Labels
	}
	if body.URLSettings != nil {
		sprite.auth = body.URLSettings.Auth
	}
	sprite.mu.Unlock()
	reply(w, http.StatusOK, sprite.shown())
}

func (s *Server) remove(w http.ResponseWriter, _ *http.Request, sprite *Sprite) {
	s.Remove(sprite)
	w.WriteHeader(http.StatusNoContent)
}

// Remove deletes a sprite, as somebody else does.
func (s *Server) Remove(sprite *Sprite) {
	s.mu.Lock()
	delete(s.sprites, sprite.Name)
	s.mu.Unlock()
	s.cut(sprite)
	sprite.end()
}

func (s *Server) rules(w http.ResponseWriter, _ *http.Request, sprite *Sprite) {
	sprite.mu.Lock()
	defer sprite.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"rules": append([]rule{}, sprite.policy...)})
}

func (s *Server) setRules(w http.ResponseWriter, r *http.Request, sprite *Sprite) {
	var body struct {
		Rules []rule `json:"rules"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		refuse(w, http.StatusBadRequest, "bad_request", "the body is no JSON")
		return
	}
	for _, rule := range body.Rules {
		_, notNet := netip.ParsePrefix(rule.Domain)
		_, notAddress := netip.ParseAddr(rule.Domain)
		if rule.Include == "" && (rule.Domain == "" || notNet == nil || notAddress == nil || rule.Action != "allow" && rule.Action != "deny") {
			refuse(w, http.StatusBadRequest, "bad_request", "rules are about domain names: "+rule.Domain)
			return
		}
	}
	sprite.mu.Lock()
	defer sprite.mu.Unlock()
	sprite.policy = body.Rules
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) checkpoints(w http.ResponseWriter, _ *http.Request, sprite *Sprite) {
	sprite.mu.Lock()
	defer sprite.mu.Unlock()
	reply(w, http.StatusOK, append([]checkpoint{}, sprite.checkpoints...))
}

func (s *Server) checkpoint(w http.ResponseWriter, r *http.Request, sprite *Sprite) {
	var body struct {
		Comment string `json:"comment"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		refuse(w, http.StatusBadRequest, "bad_request", "the body is no JSON")
		return
	}
	sprite.mu.Lock()
	defer sprite.mu.Unlock()
	id := fmt.Sprintf("v%d", len(sprite.checkpoints))
	sprite.checkpoints = append(sprite.checkpoints, checkpoint{ID: id, Comment: body.Comment, CreatedAt: time.Now().UTC()})
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = fmt.Fprintf(w, "{\"type\":\"info\",\"data\":\"creating checkpoint\"}\n\n{\"type\":\"complete\",\"data\":%q}\n", id)
}
