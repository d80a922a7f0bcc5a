package berth

import (
	"slices"
	"time"
)

// RunStatus is where a run stands.
type RunStatus string

// The states of a run.
const (
	RunSubmitted    RunStatus = "submitted"
	RunQueued       RunStatus = "queued"
	RunProvisioning RunStatus = "provisioning"
	RunRunning      RunStatus = "running"
	RunBlocked      RunStatus = "blocked"
	RunSucceeded    RunStatus = "succeeded"
	RunFailed       RunStatus = "failed"
	RunCancelled    RunStatus = "cancelled"
)

// Ended reports whether s is terminal. Terminal runs never change.
func (s RunStatus) Ended() bool {
	return s == RunSucceeded || s == RunFailed || s == RunCancelled
}

var runMoves = map[RunStatus][]RunStatus{
	RunSubmitted:    {RunQueued, RunProvisioning, RunFailed, RunCancelled},
	RunQueued:       {RunProvisioning, RunFailed, RunCancelled},
	RunProvisioning: {RunRunning, RunFailed, RunCancelled},
	RunRunning:      {RunBlocked, RunSucceeded, RunFailed, RunCancelled},
	RunBlocked:      {RunRunning, RunSucceeded, RunFailed, RunCancelled},
}

// CanBecome reports whether a run may go from s to next. Staying is no move.
func (s RunStatus) CanBecome(next RunStatus) bool { return slices.Contains(runMoves[s], next) }

// Reason says why a run, stage or sandbox is as it is. Code is one of the
// ReasonCode constants.
type Reason struct {
	Code        string `json:"code"`
	Message     string `json:"message"`
	Remediation string `json:"remediation,omitempty"`
}

// The reason codes.
const (
	ReasonCommandFailed     = "command_failed"    // the command ended with another status than 0
	ReasonPrepareFailed     = "prepare_failed"    // a prepare step did
	ReasonCloneFailed       = "clone_failed"      // the code could not be fetched
	ReasonTimedOut          = "timed_out"         // the timeout of the run or a stage
	ReasonOutOfMemory       = "out_of_memory"     // the memory limit
	ReasonLost              = "lost"              // the sandbox or host is gone
	ReasonCancelled         = "cancelled"         // somebody asked for it
	ReasonExecutionStopped  = "execution_stopped" // the execution was stopped from outside
	ReasonExecutionFailed   = "execution_failed"  // the orchestrator gave up
	ReasonProvisionFailed   = "provision_failed"  // the sandbox could not be made
	ReasonBashMissing       = "bash_missing"      // it has no /bin/bash
	ReasonSecretUnavailable = "secret_unavailable"
	ReasonDirectoryMissing  = "directory_missing" // the local directory is not there
	ReasonProviderDisabled  = "provider_disabled"
	ReasonNoRoom            = "no_room"     // why a run is queued
	ReasonUnreachable       = "unreachable" // of a sandbox: its provider was never reached, so nothing was made
	ReasonForgotten         = "forgotten"   // of a sandbox: its provider did not say that it is gone
)

// Run is one piece of work.
type Run struct {
	ID     RunID     `json:"id"`
	Status RunStatus `json:"status" enum:"submitted,queued,provisioning,running,blocked,succeeded,failed,cancelled"`
	Reason *Reason   `json:"reason"`
	// Exit is the exit of the stage that decided the run.
	Exit            *Exit             `json:"exit"`
	Environment     Environment       `json:"environment" doc:"Resolved; secrets still tokens"`
	Target          Target            `json:"target"`
	Sandbox         SandboxID         `json:"sandbox"`
	Command         []string          `json:"command,omitempty" doc:"The argv, exactly"`
	Script          string            `json:"script,omitempty"`
	Stages          []Stage           `json:"stages"`
	Labels          map[string]string `json:"labels"`
	Warnings        []Problem         `json:"warnings" doc:"Fields that the provider ignores"`
	CancelRequested bool              `json:"cancel_requested"`
	// Hint is how to get into a sandbox that was kept.
	Hint      string     `json:"hint,omitempty"`
	CreatedBy string     `json:"created_by"`
	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// RunSummary is a run in a list.
type RunSummary struct {
	ID          RunID         `json:"id"`
	Status      RunStatus     `json:"status" enum:"submitted,queued,provisioning,running,blocked,succeeded,failed,cancelled"`
	Environment EnvironmentID `json:"environment"`
	Command     string        `json:"command" doc:"One line, cut at 120 characters"`
	CreatedAt   time.Time     `json:"created_at"`
	EndedAt     *time.Time    `json:"ended_at"`
}
