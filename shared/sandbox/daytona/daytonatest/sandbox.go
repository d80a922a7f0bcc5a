//go:build linux

package daytonatest

import (
	"maps"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// sandbox is one row. The server's mu guards all but what is said otherwise.
type sandbox struct {
	server                    *Server
	id, name                  string
	labels                    map[string]string
	snapshot, target          string
	blockAll                  bool
	allowList                 string
	cpu, memory, disk         int
	autoStop, autoDelete      int
	steps                     []step
	desired, reason           string
	recoverable               bool
	created, updated, touched time.Time
	toolboxAt                 time.Time // from when on its toolbox answers
	listedAt                  time.Time // from when on the list has it
	previous                  map[string]any
	accesses                  map[string]time.Time
	toolbox                   *toolbox // guards itself
}

func (b *sandbox) state() string {
	return stateAt(b.steps, time.Now())
}

// settled reports whether nothing is under way.
func (b *sandbox) settled() bool {
	switch b.state() {
	case "started", "stopped", "error", "build_failed", "archived", "destroyed":
		return true
	}
	return false
}

// home is the folder of the sandbox's user.
func (b *sandbox) home() string { return filepath.Join(b.server.dir, b.id, "home", "daytona") }

func (b *sandbox) json(listed bool) map[string]any {
	out := map[string]any{
		"id": b.id, "organizationId": "org", "name": b.name, "snapshot": b.snapshot, "user": "daytona", "labels": maps.Clone(b.labels), "public": false,
		"networkBlockAll": b.blockAll, "target": b.target, "cpu": b.cpu, "gpu": 0, "memory": b.memory, "disk": b.disk,
		"state": b.state(), "desiredState": b.desired, "recoverable": b.recoverable, "autoStopInterval": b.autoStop, "autoArchiveInterval": 10080,
		"autoDeleteInterval": b.autoDelete, "createdAt": b.created.UTC().Format(time.RFC3339Nano), "updatedAt": b.updated.UTC().Format(time.RFC3339Nano),
		"lastActivityAt": b.touched.UTC().Format(time.RFC3339Nano), "sandboxClass": "container", "toolboxProxyUrl": b.server.http.URL + "/toolbox",
	}
	if b.allowList != "" {
		out["networkAllowList"] = b.allowList
	}
	if b.reason != "" {
		out["errorReason"] = b.reason
	}
	if !listed {
		out["env"] = map[string]string{}
	}
	return out
}

// SandboxRow is what tests see of a sandbox.
type SandboxRow struct {
	ID, Name, State, Snapshot, Target, AllowList string
	BlockAll                                     bool
	AutoStop, AutoDelete                         int
	Labels                                       map[string]string
	Home                                         string
	Touched                                      time.Time
}

// Sandboxes are those that are there, by name.
func (s *Server) Sandboxes() []SandboxRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []SandboxRow
	for _, b := range s.sandboxes {
		if state := b.state(); state != "destroyed" && state != "destroying" {
			rows = append(rows, SandboxRow{
				b.id, b.name, state, b.snapshot, b.target, b.allowList, b.blockAll, b.autoStop, b.autoDelete, maps.Clone(b.labels), b.home(), b.touched,
			})
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Name < rows[j].Name })
	return rows
}

// AddSandbox puts a started one there that nobody asked for.
func (s *Server) AddSandbox(name string, labels map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	b := &sandbox{
		server: s, id: newUUID(), name: name, labels: labels, snapshot: "daytona-small", desired: "started", created: now, updated: now, touched: now,
		steps: []step{{now, "started"}}, autoStop: 15, autoDelete: -1,
	}
	b.toolbox = newToolbox(b)
	s.sandboxes[b.id] = b
}

// SetState puts a sandbox into a state, without a reason that anybody knows.
func (s *Server) SetState(id, state string) {
	s.mu.Lock()
	b := s.sandboxes[id]
	b.steps = []step{{time.Now(), state}}
	b.desired, b.reason = state, "it was so"
	s.mu.Unlock()
	if state != "started" {
		b.powerOff()
	}
}

// powerOff ends all processes of the sandbox.
func (b *sandbox) powerOff() {
	if b.toolbox != nil {
		b.toolbox.end()
	}
}

// erase removes its disk.
func (b *sandbox) erase() {
	b.powerOff()
	_ = os.RemoveAll(filepath.Join(b.server.dir, b.id))
}
