package berth

import "time"

// EventKind names what happened.
type EventKind string

// The kinds of event.
const (
	EventRunStatus       EventKind = "run.status"       // Status, Reason, Exit
	EventCancelRequested EventKind = "run.cancel"       // somebody asked for it
	EventSandboxStatus   EventKind = "sandbox.status"   // Message: creating, ready, …
	EventSandboxProgress EventKind = "sandbox.progress" // Message
	EventStageStarted    EventKind = "stage.started"    // Stage
	EventStageEnded      EventKind = "stage.ended"      // Stage, Exit
	EventOutput          EventKind = "output"           // Stage, Output
	EventNotice          EventKind = "notice"           // Message
)

// Event is one entry of a run's history. Seq counts from 1 without a gap.
type Event struct {
	Run     RunID        `json:"run"`
	Seq     int64        `json:"seq"`
	Time    time.Time    `json:"time"`
	Kind    EventKind    `json:"kind" enum:"run.status,run.cancel,sandbox.status,sandbox.progress,stage.started,stage.ended,output,notice"`
	Stage   StageID      `json:"stage,omitempty"`
	Status  string       `json:"status,omitempty"`
	Reason  *Reason      `json:"reason,omitempty"`
	Exit    *Exit        `json:"exit,omitempty"`
	Message string       `json:"message,omitempty"`
	Output  *OutputPiece `json:"output,omitempty"`
}

// OutputPiece is what one event adds to a stage's log: the frames of its spool
// from From to To. Up to 4 KiB they are inline, else in a blob that
// `/runs/{id}/logs` reads.
type OutputPiece struct {
	From   int64   `json:"from"`
	To     int64   `json:"to"`
	Frames []Frame `json:"frames,omitempty" doc:"Inline output; absent when it is to be read from the logs"`
	Blob   string  `json:"-"`
	Raw    []byte  `json:"-"`
}

// Stream names where output came from.
type Stream string

// The streams of a command. Mark is berth's own notice, such as "output cut".
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	Mark   Stream = "mark"
)

// Frame is a piece of one stream, in the order in which it was read.
type Frame struct {
	Stream Stream `json:"stream" enum:"stdout,stderr,mark"`
	Data   []byte `json:"data" doc:"Base64"`
}
