package berth

import "time"

// StageKind says what a stage does.
type StageKind string

// The kinds of stage.
const (
	StageClone   StageKind = "clone"
	StagePrepare StageKind = "prepare"
	StageCommand StageKind = "command"
	StageNode    StageKind = "node"
)

// StageStatus is where a stage stands.
type StageStatus string

// The states of a stage.
const (
	StagePending   StageStatus = "pending"
	StageRunning   StageStatus = "running"
	StageSucceeded StageStatus = "succeeded"
	StageFailed    StageStatus = "failed"
	StageCancelled StageStatus = "cancelled"
	StageSkipped   StageStatus = "skipped"
)

// Ended reports whether s is terminal.
func (s StageStatus) Ended() bool { return s != StagePending && s != StageRunning }

// Stage is one executed step of a run.
type Stage struct {
	ID      StageID     `json:"id"`
	Kind    StageKind   `json:"kind" enum:"clone,prepare,command,node"`
	Name    string      `json:"name"`
	Status  StageStatus `json:"status" enum:"pending,running,succeeded,failed,cancelled,skipped"`
	Command CommandID   `json:"command"`
	Exit    *Exit       `json:"exit"`
	// Offset is how far the stage's output is recorded, a frame edge of its spool.
	Offset    int64      `json:"offset"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
}
