//go:build linux

package daytonatest

import (
	"encoding/json"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
)

// findSandbox takes an id, or the name of one that is not deleted.
func (s *Server) findSandbox(id string) *sandbox {
	if b := s.sandboxes[id]; b != nil && !(b.state() == "error" && b.desired == "destroyed") {
		return b
	}
	for _, b := range s.sandboxes {
		if b.name == id {
			return b
		}
	}
	return nil
}

// with finds the sandbox of a request and holds the server's mu for f.
func (s *Server) with(w http.ResponseWriter, r *http.Request, f func(*sandbox)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	b := s.findSandbox(id)
	if b == nil {
		s.refuse(w, r, http.StatusNotFound, "Sandbox with ID or name "+id+" not found")
		return
	}
	s.autoStop(b)
	f(b)
}

// autoStop stops a sandbox that nobody used for its time.
func (s *Server) autoStop(b *sandbox) {
	if b.autoStop > 0 && b.state() == "started" && time.Since(b.touched) > time.Duration(b.autoStop)*time.Minute {
		s.stop(b)
	}
}

// Age makes a sandbox's last activity older by d.
func (s *Server) Age(id string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxes[id].touched = s.sandboxes[id].touched.Add(-d)
}

func (s *Server) getSandbox(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(b *sandbox) {
		now := b.json(false)
		if faultOf(r.Context()) == StaleRead && b.previous != nil {
			s.answer(w, http.StatusOK, b.previous)
			return
		}
		b.previous = now
		s.answer(w, http.StatusOK, now)
	})
}

func (s *Server) listSandboxes(w http.ResponseWriter, r *http.Request) {
	want := map[string]string{}
	if text := r.URL.Query().Get("labels"); text != "" {
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			s.refuse(w, r, http.StatusBadRequest, "labels must be JSON")
			return
		}
	}
	limit := min(number(r, "limit", 100), 200)
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*sandbox
	for _, b := range s.sandboxes {
		if carries(b.labels, want) && !b.listedAt.After(time.Now()) && b.state() != "destroyed" && b.id > r.URL.Query().Get("cursor") {
			found = append(found, b)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].id < found[j].id })
	var cursor any
	if len(found) > limit {
		found = found[:limit]
		cursor = found[limit-1].id
	}
	items := []any{}
	for _, b := range found {
		items = append(items, b.json(true))
	}
	s.answer(w, http.StatusOK, map[string]any{"items": items, "nextCursor": cursor})
}

func carries(labels, want map[string]string) bool {
	for name, value := range want {
		if labels[name] != value {
			return false
		}
	}
	return true
}

func (s *Server) replaceLabels(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Labels map[string]string `json:"labels"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.refuse(w, r, http.StatusBadRequest, err.Error())
		return
	}
	s.with(w, r, func(b *sandbox) {
		b.labels, b.updated = in.Labels, time.Now()
		s.answer(w, http.StatusOK, map[string]any{"labels": in.Labels})
	})
}

func (s *Server) deleteSandbox(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(b *sandbox) {
		switch state := b.state(); {
		case state == "destroying" || state == "destroyed":
			s.answer(w, http.StatusOK, b.json(false))
		case !b.settled():
			s.inProgress(w, r)
		default:
			s.destroy(b)
			s.answer(w, http.StatusOK, b.json(false))
		}
	})
}

// destroy frees the name at once; the row stays for a while.
func (s *Server) destroy(b *sandbox) {
	now := time.Now()
	b.previous = nil // changes clear the cache
	b.name = "DESTROYED_" + b.name + "_" + strconv.FormatInt(now.UnixMilli(), 10)
	b.desired, b.updated = "destroyed", now
	b.steps = []step{{now, "destroying"}, {now.Add(s.config.DeleteTime), "destroyed"}}
	b.erase()
}

// stop ends the sandbox's processes; an ephemeral one is deleted by it.
func (s *Server) stop(b *sandbox) {
	b.desired = "stopped"
	b.powerOff()
	b.begin([]string{"stopping", "stopped"}, s.config.StartTime/2)
	if b.autoDelete == 0 {
		s.destroy(b)
	}
}

// changeSandbox is every action without a value.
func (s *Server) changeSandbox(w http.ResponseWriter, r *http.Request) {
	action := r.PathValue("action")
	if action == "start" {
		s.start(w, r)
		return
	}
	s.with(w, r, func(b *sandbox) {
		state := b.state()
		switch action {
		case "last-activity":
			b.touched = time.Now()
			w.WriteHeader(http.StatusCreated)
			return
		case "stop":
			switch {
			case state == "stopped":
			case !b.settled():
				s.inProgress(w, r)
				return
			case state != "started":
				s.refuse(w, r, http.StatusBadRequest, "Sandbox is not started")
				return
			default:
				s.stop(b)
			}
		case "recover":
			if state != "error" || !b.recoverable {
				s.refuse(w, r, http.StatusBadRequest, "Sandbox is not in a recoverable state")
				return
			}
			b.reason, b.desired = "", "started"
			b.begin([]string{"starting", "started"}, s.config.StartTime)
		case "ssh-access":
			s.sshAccess(w, r, b)
			return
		case "snapshot":
			s.snapshotSandbox(w, r, b)
			return
		default:
			s.refuse(w, r, http.StatusNotFound, "Cannot POST "+r.URL.Path)
			return
		}
		s.answer(w, http.StatusOK, b.json(false))
	})
}

func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	var started *sandbox
	s.with(w, r, func(b *sandbox) {
		switch state := b.state(); {
		case state == "started":
		case state == "stopped" || state == "archived":
			b.desired = "started"
			b.begin([]string{"starting", "started"}, s.startTime(r))
		case state == "error" || state == "build_failed":
			s.refuse(w, r, http.StatusBadRequest, "Sandbox is in an errored state")
			return
		default:
			s.inProgress(w, r)
			return
		}
		started = b
	})
	if started != nil {
		s.answerStarted(w, r, started)
	}
}

// setInterval is the actions with a number behind them.
func (s *Server) setInterval(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("value"))
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest, "Validation failed (numeric string is expected)")
		return
	}
	s.with(w, r, func(b *sandbox) {
		switch r.PathValue("action") {
		case "autostop":
			b.autoStop = n
		case "autodelete":
			b.autoDelete = n
		default:
			s.refuse(w, r, http.StatusNotFound, "Cannot POST "+r.URL.Path)
			return
		}
		b.touched, b.updated = time.Now(), time.Now()
		s.answer(w, http.StatusOK, b.json(false))
	})
}

// sshAccess revokes the accesses that were given before.
func (s *Server) sshAccess(w http.ResponseWriter, r *http.Request, b *sandbox) {
	if b.state() != "started" {
		s.refuse(w, r, http.StatusBadRequest, "Sandbox is not started")
		return
	}
	now := time.Now().UTC()
	expires := now.Add(time.Duration(number(r, "expiresInMinutes", 60)) * time.Minute)
	token := strings.ReplaceAll(newUUID(), "-", "")
	b.accesses = map[string]time.Time{token: expires}
	s.answer(w, http.StatusOK, map[string]any{
		"id": newUUID(), "sandboxId": b.id, "token": token, "expiresAt": expires, "createdAt": now, "updatedAt": now,
		"sshCommand": "ssh -p 2222 " + token + "@localhost",
	})
}

const longestPreview = 86400

func (s *Server) signedPreview(w http.ResponseWriter, r *http.Request) {
	port, err := strconv.Atoi(r.PathValue("port"))
	seconds := number(r, "expiresInSeconds", 60)
	if err != nil || port < 1 || port > 65535 || seconds > longestPreview {
		s.refuse(w, r, http.StatusBadRequest, "Invalid port or expiry")
		return
	}
	s.with(w, r, func(b *sandbox) {
		token := strings.ReplaceAll(newUUID(), "-", "")[:13]
		s.answer(w, http.StatusOK, map[string]any{
			"sandboxId": b.id, "port": port, "token": token, "url": "http://" + strconv.Itoa(port) + "-" + token + ".proxy.test",
		})
	})
}

func (s *Server) snapshotSandbox(w http.ResponseWriter, r *http.Request, b *sandbox) {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !snapshotName.MatchString(in.Name) {
		s.refuse(w, r, http.StatusBadRequest, "Invalid snapshot name format")
		return
	}
	if s.findSnapshot(in.Name, true) != nil {
		s.refuse(w, r, http.StatusConflict, "Snapshot with name \""+in.Name+"\" already exists for this organization")
		return
	}
	now := time.Now()
	s.snapshots[in.Name] = &snapshot{
		id: newUUID(), name: in.Name, cpu: b.cpu, memory: b.memory, disk: b.disk, created: now, updated: now,
		steps: stepsOf([]string{"snapshotting", "active"}, now, s.config.BuildTime),
	}
	s.answer(w, http.StatusOK, b.json(false))
}

func (s *Server) toolboxProxy(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(*sandbox) { s.answer(w, http.StatusOK, map[string]any{"url": s.http.URL + "/toolbox"}) })
}
