package berth

import "time"

// CommandStatus is where a command stands.
type CommandStatus string

// The states of a command.
const (
	CommandStarting CommandStatus = "starting"
	CommandRunning  CommandStatus = "running"
	CommandEnded    CommandStatus = "ended"
)

// Command is the record of one process in a sandbox, started by a stage or by
// exec.
type Command struct {
	ID        CommandID     `json:"id"`
	Sandbox   SandboxID     `json:"sandbox"`
	Stage     StageID       `json:"stage,omitempty"`
	Argv      []string      `json:"argv,omitempty"`
	Script    string        `json:"script,omitempty"`
	Dir       string        `json:"dir,omitempty"`
	Status    CommandStatus `json:"status" enum:"starting,running,ended"`
	Exit      *Exit         `json:"exit"`
	Timeout   Duration      `json:"timeout,omitempty"`
	CreatedAt time.Time     `json:"created_at"`
	StartedAt *time.Time    `json:"started_at,omitempty"`
	EndedAt   *time.Time    `json:"ended_at,omitempty"`
}
