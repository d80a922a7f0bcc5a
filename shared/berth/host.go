package berth

import "time"

// Host is a machine with Docker that runs the host agent.
type Host struct {
	ID          HostID            `json:"id"`
	Address     string            `json:"address"`
	Fingerprint string            `json:"fingerprint" doc:"SHA-256 of the pinned certificate"`
	Labels      map[string]string `json:"labels"`
	CPU         int               `json:"cpu" doc:"Whole cores"`
	MemoryBytes int64             `json:"memory_bytes"`
	Draining    bool              `json:"draining"`
	SeenAt      time.Time         `json:"seen_at"`
	CreatedAt   time.Time         `json:"created_at"`
}
