//go:build linux

package daytonatest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// snapshot is one row. The server's mu guards it.
type snapshot struct {
	id, name          string
	general           bool
	dockerfile        string
	cpu, memory, disk int
	created, updated  time.Time
	steps             []step
	reason            string
	deactivated       time.Time
	previous          map[string]any // what a stale read shows
}

func (n *snapshot) state() string { return stateAt(n.steps, time.Now()) }

func (n *snapshot) json() map[string]any {
	out := map[string]any{
		"id": n.id, "organizationId": "org", "general": n.general, "name": n.name, "state": n.state(), "size": nil, "entrypoint": nil,
		"cpu": n.cpu, "gpu": 0, "mem": n.memory, "disk": n.disk, "errorReason": nil, "createdAt": n.created.UTC(), "updatedAt": n.updated.UTC(),
		"lastUsedAt": nil, "sourceSandboxId": nil,
	}
	if state := n.state(); state == "error" || state == "build_failed" {
		out["errorReason"] = n.reason
	}
	if n.dockerfile != "" {
		out["buildInfo"] = map[string]any{
			"dockerfileContent": n.dockerfile, "createdAt": n.created.UTC(), "updatedAt": n.updated.UTC(), "snapshotRef": "daytona-" + n.id + ":daytona",
		}
	}
	return out
}

// SnapshotRow is what tests see of a snapshot.
type SnapshotRow struct {
	ID, Name, State, Dockerfile string
	CPU, Memory, Disk           int
}

// Snapshots are those that are not built in, by name.
func (s *Server) Snapshots() []SnapshotRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []SnapshotRow
	for _, n := range s.snapshots {
		if !n.general {
			rows = append(rows, SnapshotRow{n.id, n.name, n.state(), n.dockerfile, n.cpu, n.memory, n.disk})
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Name < rows[j].Name })
	return rows
}

// AddSnapshot puts one there, in a state, as old as age.
func (s *Server) AddSnapshot(name, state string, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now().Add(-age)
	s.snapshots[name] = &snapshot{id: newUUID(), name: name, cpu: 1, memory: 1, disk: 3, created: at, updated: at, reason: "it was so", steps: []step{{at, state}}}
}

// Deactivate makes a snapshot inactive, as Daytona does when it is not used.
func (s *Server) Deactivate(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots[name].steps = []step{{state: "inactive"}}
}

// findSnapshot takes an id, or also a name.
func (s *Server) findSnapshot(id string, named bool) *snapshot {
	for _, n := range s.snapshots {
		if n.id == id || named && n.name == id {
			if n.state() != "removed" {
				return n
			}
		}
	}
	return nil
}

var snapshotName = regexp.MustCompile(`^[A-Za-z0-9_.:-]+(/[A-Za-z0-9_.:-]+)*$`)

func (s *Server) createSnapshot(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name       string   `json:"name"`
		ImageName  string   `json:"imageName"`
		Entrypoint []string `json:"entrypoint"`
		CPU        int      `json:"cpu"`
		Memory     int      `json:"memory"`
		Disk       int      `json:"disk"`
		RegionID   string   `json:"regionId"`
		BuildInfo  *struct {
			Dockerfile string `json:"dockerfileContent"`
		} `json:"buildInfo"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.refuse(w, r, http.StatusBadRequest, err.Error())
		return
	}
	switch {
	case !snapshotName.MatchString(in.Name):
		s.refuse(w, r, http.StatusBadRequest, "Invalid snapshot name format")
		return
	case (in.ImageName == "") == (in.BuildInfo == nil):
		s.refuse(w, r, http.StatusBadRequest, "Must specify either an image name or build info")
		return
	case in.BuildInfo != nil && len(in.Entrypoint) > 0:
		s.refuse(w, r, http.StatusBadRequest, "Cannot specify an entrypoint when using a build info entry")
		return
	case strings.HasSuffix(in.ImageName, ":latest"):
		s.refuse(w, r, http.StatusBadRequest, "Images with tag \":latest\" are not allowed")
		return
	case in.CPU > 4 || in.Memory > 8 || in.Disk > 10:
		s.refuse(w, r, http.StatusBadRequest, fmt.Sprintf("CPU, memory or disk request %d/%d/%d exceeds maximum allowed per sandbox: limit exceeded", in.CPU, in.Memory, in.Disk))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.findSnapshot(in.Name, true) != nil {
		s.refuse(w, r, http.StatusConflict, "Snapshot with name \""+in.Name+"\" already exists for this organization")
		return
	}
	now := time.Now()
	n := &snapshot{id: newUUID(), name: in.Name, cpu: max(in.CPU, 1), memory: max(in.Memory, 1), disk: max(in.Disk, 3)}
	n.created, n.updated = now.Add(s.config.Skew), now.Add(s.config.Skew)
	states := []string{"pending", "building", "active"}
	if in.BuildInfo != nil {
		n.dockerfile = in.BuildInfo.Dockerfile
	}
	if script, ok := next(&s.scripts.snapshots); ok {
		states, n.reason = script.States, script.Reason
	} else if faultOf(r.Context()) == BuildFails {
		states, n.reason = []string{"pending", "building", "build_failed"}, string(BuildFails)
	}
	n.steps = stepsOf(states, now, s.config.BuildTime/time.Duration(max(1, len(states)-1)))
	s.snapshots[n.name] = n
	s.answer(w, http.StatusOK, n.json())
}

func (s *Server) getSnapshot(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if rest, ok := strings.CutSuffix(id, "/build-logs-url"); ok {
		r.SetPathValue("id", rest)
		s.buildLogsURL(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.findSnapshot(id, true)
	if n == nil {
		s.refuse(w, r, http.StatusNotFound, "Snapshot "+id+" not found")
		return
	}
	now := n.json()
	if faultOf(r.Context()) == StaleRead && n.previous != nil {
		s.answer(w, http.StatusOK, n.previous)
		return
	}
	n.previous = now
	s.answer(w, http.StatusOK, now)
}

func (s *Server) listSnapshots(w http.ResponseWriter, r *http.Request) {
	part := r.URL.Query().Get("name")
	page, limit := number(r, "page", 1), number(r, "limit", 100)
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*snapshot
	for _, n := range s.snapshots {
		if strings.Contains(n.name, part) && n.state() != "removed" {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b *snapshot) int { return strings.Compare(a.name, b.name) })
	items := []any{}
	for i := (page - 1) * limit; i < min(page*limit, len(found)); i++ {
		items = append(items, found[i].json())
	}
	s.answer(w, http.StatusOK, map[string]any{"items": items, "total": len(found), "page": page, "totalPages": (len(found) + limit - 1) / limit})
}

func number(r *http.Request, name string, usual int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil || n < 1 {
		return usual
	}
	return n
}

// deleteSnapshot takes an id alone.
func (s *Server) deleteSnapshot(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.findSnapshot(r.PathValue("id"), false)
	switch {
	case n == nil:
		s.refuse(w, r, http.StatusNotFound, "Snapshot not found")
	case n.general:
		s.refuse(w, r, http.StatusForbidden, "You cannot delete a general snapshot")
	default:
		now := time.Now()
		n.steps = []step{{now, "removing"}, {now.Add(s.config.DeleteTime), "removed"}}
		if s.config.DeleteTime == 0 {
			delete(s.snapshots, n.name)
		}
		s.answer(w, http.StatusOK, map[string]any{})
	}
}

const activationRest = 10 * time.Minute

func (s *Server) activateSnapshot(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.findSnapshot(r.PathValue("id"), false)
	switch {
	case n == nil:
		s.refuse(w, r, http.StatusNotFound, "Snapshot not found")
	case n.state() != "inactive":
		s.refuse(w, r, http.StatusBadRequest, "Snapshot is not in inactive state")
	case time.Since(n.deactivated) < activationRest:
		s.refuse(w, r, http.StatusBadRequest, "Snapshot was deactivated a moment ago")
	default:
		n.updated = time.Now()
		n.steps = []step{{n.updated, "pending"}, {n.updated.Add(s.config.BuildTime), "active"}}
		s.answer(w, http.StatusOK, n.json())
	}
}

func (s *Server) buildLogsURL(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.findSnapshot(r.PathValue("id"), true)
	if n == nil {
		s.refuse(w, r, http.StatusNotFound, "Snapshot not found")
		return
	}
	s.answer(w, http.StatusOK, map[string]any{"url": s.http.URL + "/logs/" + n.id})
}

// serveLogs is the log of a build.
func (s *Server) serveLogs(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "Step 1/1 : FROM\nthe last line of the build\n")
}
