package records

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-dev/berth/shared/berth"
)

// Head is the part of a run's record that changes. The rest is its Definition.
type Head struct {
	ID              berth.RunID         `json:"id"`
	Status          berth.RunStatus     `json:"status"`
	Reason          *berth.Reason       `json:"reason,omitempty"`
	Exit            *berth.Exit         `json:"exit,omitempty"`
	Environment     berth.EnvironmentID `json:"environment"`
	Summary         string              `json:"summary"`
	Sandbox         berth.SandboxID     `json:"sandbox"`
	CancelRequested bool                `json:"cancel_requested,omitempty"`
	Hint            string              `json:"hint,omitempty"`
	CreatedBy       string              `json:"created_by"`
	CreatedAt       time.Time           `json:"created_at"`
	// AdmittedAt is when the making of its sandbox began.
	AdmittedAt *time.Time `json:"admitted_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	EndedAt    *time.Time `json:"ended_at,omitempty"`
	// Stage is the one that runs now, if any.
	Stage berth.StageID `json:"stage,omitempty"`
	// Outcome is the first one recorded; teardown follows it, then the run ends with it.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Events is the number of events so far.
	Events int64 `json:"events"`
	// Execution is the sequence number of the newest execution, from 1.
	Execution int `json:"execution"`
	// Pool says how a run of an environment with a pool got its sandbox.
	Pool string `json:"pool,omitempty"`
	// Unstarted is the stage whose command is still to be started, as its host did
	// not answer.
	Unstarted berth.StageID `json:"unstarted,omitempty"`
	// Unanswered is since when the provider has not answered who makes the sandbox.
	Unanswered *time.Time `json:"unanswered,omitempty"`
	// Restarts counts the executions that the sweeper started again.
	Restarts int `json:"restarts,omitempty"`
	// Token is the task token that AwaitOutput waits for, if any.
	Token string `json:"token,omitempty"`
	// SuspectSince is when the sweeper first found the execution missing or failed.
	SuspectSince *time.Time `json:"suspect_since,omitempty"`
}

// Outcome is how a run is going to end.
type Outcome struct {
	Status berth.RunStatus `json:"status"`
	Reason *berth.Reason   `json:"reason,omitempty"`
	Exit   *berth.Exit     `json:"exit,omitempty"`
}

// projection is what the run index carries beside the keys; it changes with the
// status alone, so events do not rewrite the index.
type projection struct {
	Status      berth.RunStatus     `json:"s"`
	Environment berth.EnvironmentID `json:"e"`
	Summary     string              `json:"c"`
	EndedAt     *time.Time          `json:"t,omitempty"`
}

func (h Head) item(version int64) (berth.Item, error) {
	body, err := encode(h)
	if err != nil {
		return berth.Item{}, err
	}
	p, err := json.Marshal(projection{h.Status, h.Environment, h.Summary, h.EndedAt})
	return berth.Item{
		PK: pkRun(h.ID), SK: skHead, Version: version, Body: body,
		Index1: berth.IndexKey{PK: pkMonth(h.listedAt()), SK: string(h.ID)}, Projected: string(p),
	}, err
}

// listedAt is when the run's id was made: readers of the index go by it, and the
// run may have been recorded in the month behind it.
func (h Head) listedAt() time.Time {
	if t, err := idTime(string(h.ID)); err == nil {
		return t
	}
	return h.CreatedAt
}

const summaryBytes = 120

// Summarize makes one line of at most 120 bytes, cut on a rune's edge, from a
// command or script.
func Summarize(argv []string, script string) string {
	line := script
	if len(argv) > 0 {
		line = berth.ShellQuote(argv...)
	}
	line = strings.Join(strings.Fields(strings.ToValidUTF8(line, "\uFFFD")), " ")
	if len(line) <= summaryBytes {
		return line
	}
	cut := summaryBytes - len("…")
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}
