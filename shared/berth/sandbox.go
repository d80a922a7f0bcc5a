package berth

import "time"

// SandboxStatus is where a sandbox stands.
type SandboxStatus string

// The states of a sandbox. Gone is told by providers of one they do not know.
const (
	SandboxCreating  SandboxStatus = "creating"
	SandboxReady     SandboxStatus = "ready"
	SandboxStopped   SandboxStatus = "stopped"
	SandboxDestroyed SandboxStatus = "destroyed"
	SandboxFailed    SandboxStatus = "failed"
	SandboxGone      SandboxStatus = "gone"
)

// Sandbox is the record of a concrete instance. It is written before the
// provider is called, so that nothing can exist unowned.
type Sandbox struct {
	ID          SandboxID     `json:"id"`
	Run         RunID         `json:"run"`
	Environment EnvironmentID `json:"environment"`
	Provider    ProviderKind  `json:"provider" enum:"local,docker,daytona,ssh,exe,sprites"`
	Host        HostID        `json:"host,omitempty"`
	Status      SandboxStatus `json:"status" enum:"creating,ready,stopped,destroyed,failed,gone"`
	Reason      *Reason       `json:"reason,omitempty"`
	// Workspace is the absolute path, inside the sandbox, that commands start in.
	Workspace string `json:"workspace"`
	// Ref is the provider's own name for it: a container id, a VM's name, a pid.
	Ref       string     `json:"ref,omitempty"`
	Preserved bool       `json:"preserved"`
	KeepUntil *time.Time `json:"keep_until,omitempty"`
	// KeptAfterRun is true when the end of its run does not destroy it. Preserved and
	// KeepUntil are only set then.
	KeptAfterRun bool              `json:"kept_after_run,omitempty"`
	Labels       map[string]string `json:"labels"`
	// Hint is the command line that gets a person in.
	Hint      string    `json:"hint,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Unmade reports whether nothing of the sandbox can be at its provider, which was
// never reached for it.
func (s Sandbox) Unmade() bool {
	return s.Ref == "" && s.Reason != nil && s.Reason.Code == ReasonUnreachable
}
