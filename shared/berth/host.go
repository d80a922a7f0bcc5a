package berth

import "time"

// Host is a machine with Docker that runs the host agent.
type Host struct {
	ID          HostID            `json:"id"`
	Address     string            `json:"address" doc:"Where the control plane reaches the agent, such as https://10.0.0.7:7443"`
	Fingerprint string            `json:"fingerprint" doc:"SHA-256 of the pinned certificate"`
	PublicURL   string            `json:"public_url,omitempty" doc:"Where browsers reach previews of its sandboxes, such as https://*.host.example.com; absent where they do not"`
	Labels      map[string]string `json:"labels"`
	Providers   []ProviderKind    `json:"providers" enum:"local,docker,daytona,ssh,exe,sprites"`
	HostCapacity
	Status    HostStatus `json:"status" enum:"joining,ready,draining,lost"`
	Draining  bool       `json:"draining" doc:"Takes no new sandbox; what runs there goes on"`
	Version   string     `json:"version" doc:"The agent's"`
	SeenAt    *time.Time `json:"seen_at" doc:"The last heartbeat; null before the first"`
	CreatedAt time.Time  `json:"created_at"`
}

// HostCapacity is what a host has for sandboxes.
type HostCapacity struct {
	CPU          int    `json:"cpu" minimum:"1" doc:"Whole cores"`
	MemoryBytes  int64  `json:"memory_bytes" minimum:"1"`
	DiskBytes    int64  `json:"disk_bytes" minimum:"0" doc:"Free bytes where sandboxes are; 0 is not known"`
	Architecture string `json:"architecture" enum:"amd64,arm64"`
}

// HostStatus is what the control plane makes of a host's heartbeats.
type HostStatus string

// A host is joining until its agent has joined, and lost once it has been
// silent for HostGrace.
const (
	HostJoining  HostStatus = "joining"
	HostReady    HostStatus = "ready"
	HostDraining HostStatus = "draining"
	HostLost     HostStatus = "lost"
)

const (
	// JoinTokenLife is how long the token of POST /hosts can be used, once.
	JoinTokenLife = 10 * time.Minute
	// HostHeartbeat is the time between two heartbeats of a host agent.
	HostHeartbeat = 30 * time.Second
	// HostGrace is the silence after which a host is lost, and its runs with it.
	HostGrace = 5 * time.Minute
)

// JoinToken is the answer of POST /hosts.
type JoinToken struct {
	Host      Host      `json:"host"`
	Token     string    `json:"token,omitempty" doc:"For berth-agent join; shown this once, and absent when the request is repeated"`
	ExpiresAt time.Time `json:"expires_at"`
}

// HostJoin is the body of POST /hosts/join: what a host agent says of itself. The
// control plane calls Address back, with Bearer and the pinned fingerprint,
// before it accepts.
type HostJoin struct {
	Token       string            `json:"token" doc:"Of berth host add; good once, for 10 minutes"`
	Address     string            `json:"address"`
	Fingerprint string            `json:"fingerprint"`
	Bearer      string            `json:"bearer" doc:"What the agent answers to"`
	Providers   []ProviderKind    `json:"providers"`
	Labels      map[string]string `json:"labels,omitempty"`
	PublicURL   string            `json:"public_url,omitempty" doc:"Where browsers reach previews, such as https://*.host.example.com"`
	HostCapacity
	Version string `json:"version"`
}

// JoinedHost is the answer of POST /hosts/join.
type JoinedHost struct {
	Host         Host           `json:"host"`
	Installation InstallationID `json:"installation"`
	Key          string         `json:"key" doc:"The host's own API key, scope host; shown this once"`
}

// Heartbeat is the body of POST /hosts/{id}/heartbeat.
type Heartbeat struct {
	HostCapacity
	PublicURL string `json:"public_url,omitempty" doc:"As of a join; absent when there is none any more"`
	Version   string `json:"version"`
}

// Nudge is the body of POST /hosts/{id}/nudge: a command that the agent was
// armed for has spoken or ended.
type Nudge struct {
	Sandbox SandboxID `json:"sandbox"`
	Command CommandID `json:"command"`
}

// ProviderSecret is the name in the store of a secret of berth's own, such as the
// bearer of a host: host/<id>.
func ProviderSecret(name string) string { return "provider/" + name }

// HostSecret names the secret with what a host's agent answers to.
func HostSecret(id HostID) string { return ProviderSecret("host/" + string(id)) }
