//go:build linux

package daytonatest

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// creation is the body of a request for a sandbox.
type creation struct {
	Name             string            `json:"name"`
	Snapshot         string            `json:"snapshot"`
	Target           string            `json:"target"`
	Labels           map[string]string `json:"labels"`
	NetworkBlockAll  bool              `json:"networkBlockAll"`
	NetworkAllowList string            `json:"networkAllowList"`
	CPU              *int              `json:"cpu"`
	Memory           *int              `json:"memory"`
	Disk             *int              `json:"disk"`
	AutoStop         *int              `json:"autoStopInterval"`
	AutoDelete       *int              `json:"autoDeleteInterval"`
	BuildInfo        *json.RawMessage  `json:"buildInfo"`
}

const maxNetworks = 10

// checkNetworks is the server's own check of the list.
func checkNetworks(list string) string {
	if list == "" {
		return ""
	}
	all := strings.Split(list, ",")
	if len(all) > maxNetworks {
		return "Network allow list cannot contain more than 10 networks"
	}
	for _, text := range all {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || !prefix.Addr().Is4() {
			return "Invalid network: " + text + ". Must be an IPv4 CIDR"
		}
	}
	return ""
}

// fault is what is wrong with a creation; the server's mu is held.
func (s *Server) wrong(in creation) (status int, message string) {
	n := s.findSnapshot(in.Snapshot, true)
	switch {
	case in.Snapshot != "" && in.BuildInfo != nil:
		return http.StatusBadRequest, "Cannot specify a snapshot when using a build info entry"
	case in.Snapshot != "" && (in.CPU != nil || in.Memory != nil || in.Disk != nil):
		return http.StatusBadRequest, "Cannot specify Sandbox resources when using a snapshot"
	case n == nil:
		return http.StatusBadRequest, "Snapshot " + in.Snapshot + " not found. Did you add it through the Daytona Dashboard?"
	case n.state() == "inactive":
		return http.StatusBadRequest, "Snapshot " + in.Snapshot + " is inactive"
	case n.state() != "active":
		return http.StatusBadRequest, "Snapshot " + in.Snapshot + " is " + n.state()
	case in.AutoStop != nil && *in.AutoStop < 0:
		return http.StatusBadRequest, "Auto-stop interval must be non-negative"
	case s.config.MaxSandboxes > 0 && s.running() >= s.config.MaxSandboxes:
		return http.StatusBadRequest, "Total CPU limit exceeded. Maximum allowed: 10"
	}
	if message := checkNetworks(in.NetworkAllowList); message != "" {
		return http.StatusBadRequest, message
	}
	for _, b := range s.sandboxes {
		if b.name == in.Name && in.Name != "" {
			return http.StatusConflict, "Sandbox with name " + in.Name + " already exists"
		}
	}
	return 0, ""
}

func (s *Server) running() int {
	n := 0
	for _, b := range s.sandboxes {
		if b.desired == "started" {
			n++
		}
	}
	return n
}

func orElse[T any](p *T, usual T) T {
	if p == nil {
		return usual
	}
	return *p
}

func (s *Server) createSandbox(w http.ResponseWriter, r *http.Request) {
	var in creation
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.refuse(w, r, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	if in.Snapshot == "" && in.BuildInfo == nil {
		in.Snapshot = "daytona-small"
	}
	if status, message := s.wrong(in); status != 0 {
		s.mu.Unlock()
		s.refuse(w, r, status, message)
		return
	}
	script, scripted := next(&s.scripts.sandboxes)
	if script.NoRunners > 0 {
		s.mu.Unlock()
		s.refuse(w, r, http.StatusBadRequest, "No available runners")
		return
	}
	now := time.Now()
	n := s.findSnapshot(in.Snapshot, true)
	b := &sandbox{
		server: s, id: newUUID(), name: in.Name, labels: in.Labels, snapshot: n.name, target: in.Target, blockAll: in.NetworkBlockAll,
		allowList: in.NetworkAllowList, cpu: n.cpu, memory: n.memory, disk: n.disk, desired: "started",
		autoStop: orElse(in.AutoStop, 15), autoDelete: orElse(in.AutoDelete, -1), created: now.Add(s.config.Skew), updated: now, touched: now, listedAt: now.Add(s.config.ListLag),
	}
	if b.name == "" {
		b.name = b.id
	}
	if b.labels == nil {
		b.labels = map[string]string{}
	}
	b.toolbox = newToolbox(b)
	states := []string{"creating", "started"}
	if scripted {
		states, b.reason, b.recoverable = script.States, script.Reason, script.Recoverable
	}
	b.begin(states, s.startTime(r))
	s.sandboxes[b.id] = b
	s.mu.Unlock()
	s.answerStarted(w, r, b)
}

// startTime is how long this start takes.
func (s *Server) startTime(r *http.Request) time.Duration {
	if faultOf(r.Context()) == SlowStart {
		return s.config.StartTime + slowStart
	}
	return s.config.StartTime
}

const slowStart = 400 * time.Millisecond

// begin goes through states, which take total together.
func (b *sandbox) begin(states []string, total time.Duration) {
	now := time.Now()
	b.steps = stepsOf(states, now, total/time.Duration(max(1, len(states)-1)))
	b.updated, b.touched = now, now
	b.toolboxAt = b.steps[len(b.steps)-1].at.Add(b.server.config.ToolboxDelay)
	if total > b.server.config.StartTime { // a slow start is slow with its toolbox too
		b.toolboxAt = b.toolboxAt.Add(slowStart / 2)
	}
}

// answerStarted waits as the server does, and answers with what it then reads,
// which may be old.
func (s *Server) answerStarted(w http.ResponseWriter, r *http.Request, b *sandbox) {
	for end := time.Now().Add(s.config.CreateWait); time.Now().Before(end); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		settled := b.settled()
		s.mu.Unlock()
		if settled || r.Context().Err() != nil {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer(w, http.StatusOK, b.json(false))
}
