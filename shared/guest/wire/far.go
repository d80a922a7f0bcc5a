package wire

import (
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// FarVersion is the version of what a server and a far daemon say to each other,
// told in FarHello. A daemon outlives the server that started it, so a server
// keeps speaking the versions before its own.
const FarVersion = 1

// The operations of a far daemon, which owns the spools of its one sandbox. The
// client asks, over any stream; OpHello is the daemon's first message, OpReply
// and OpAbandon are as between agent and guest. OpSignal, OpCancel, OpInput,
// OpRead, OpWrite, OpDelete, OpGrep and OpGlob have the parameters that they
// have there, and no files.
const (
	OpPing Op = "ping" // none → none

	OpProvision Op = "provision" // Provision → State
	OpDescribe  Op = "describe"  // none → State
	OpHalt      Op = "halt"      // none → none; ends commands, keeps files and spools
	OpResume    Op = "resume"    // none → State
	OpDestroy   Op = "destroy"   // none → none; the daemon ends afterwards
	// OpProbe, whose parameters are the guest's, is for a daemon that is process 1
	// of a container; of the others it takes OpHalt only, and ends afterwards.

	OpCommand         Op = "command"          // Command without Hash → none
	OpDescribeCommand Op = "describe-command" // CommandRef → CommandState
	OpOutput          Op = "output"           // Output → OutputResult and whole frames

	OpPut      Op = "put"       // Write → Piece; begins a large write
	OpPutPiece Op = "put-piece" // Piece and data → none
	OpPutEnd   Op = "put-end"   // Piece → File; none when it is given up
)

// FarHello is the daemon's first message on each connection. A relay that finds
// no sandbox sends it with an error in its place.
type FarHello struct {
	Version int `json:"version"`
	// Daemon names this process; after another name, uploads begin anew.
	Daemon string `json:"daemon"`
}

// Provision makes the sandbox in Directory, which must be there unless Make says
// otherwise.
type Provision struct {
	Run       berth.RunID `json:"run"`
	Directory Text        `json:"directory"`
	Make      bool        `json:"make,omitempty"`
}

// State is berth.SandboxState.
type State struct {
	ID        berth.SandboxID     `json:"id"`
	Run       berth.RunID         `json:"run"`
	Status    berth.SandboxStatus `json:"status"`
	Ref       string              `json:"ref,omitempty"`
	Workspace Text                `json:"workspace"`
	Hint      Text                `json:"hint,omitempty"`
	Reason    *berth.Reason       `json:"reason,omitempty"`
	Detail    string              `json:"detail,omitempty"`
	CreatedAt time.Time           `json:"created_at"`
}

// StateOf converts to the wire.
func StateOf(s berth.SandboxState) State {
	return State{s.ID, s.Run, s.Status, s.Ref, Text(s.Workspace), Text(s.Hint), s.Reason, s.Detail, s.CreatedAt}
}

// Sandbox converts from the wire.
func (s State) Sandbox() berth.SandboxState {
	return berth.SandboxState{
		ID: s.ID, Run: s.Run, Status: s.Status, Ref: s.Ref, Workspace: string(s.Workspace), Hint: string(s.Hint), Reason: s.Reason, Detail: s.Detail, CreatedAt: s.CreatedAt,
	}
}

// CommandRef names a command.
type CommandRef struct {
	ID berth.CommandID `json:"id"`
}

// CommandState is berth.CommandState.
type CommandState struct {
	ID        berth.CommandID     `json:"id"`
	Status    berth.CommandStatus `json:"status"`
	StartedAt time.Time           `json:"started_at"`
	Exit      *berth.Exit         `json:"exit,omitempty"`
}

// Output asks for whole frames from an offset, and waits for them.
type Output struct {
	ID     berth.CommandID `json:"id"`
	Offset int64           `json:"offset"`
	Limit  int             `json:"limit"`
	Wait   time.Duration   `json:"wait"`
}

// OutputResult is berth.Output without its bytes.
type OutputResult struct {
	Next  int64       `json:"next"`
	Ended bool        `json:"ended,omitempty"`
	Exit  *berth.Exit `json:"exit,omitempty"`
}

// Piece is a part of a large write. It names the write, also on another
// connection, and the part by its offset: one that is sent twice is taken once.
type Piece struct {
	Write  string `json:"write"`
	Offset int64  `json:"offset,omitempty"`
	Abort  bool   `json:"abort,omitempty"`
}

// OpStream turns a connection into a stream of the sandbox: Opened → none, and
// from the answer on the connection carries the frames of package channel alone.
const OpStream Op = "stream"

// Opened says what a stream leads to.
type Opened struct {
	Kind  berth.StreamKind `json:"kind"`
	Port  int              `json:"port,omitempty"`
	Shell Shell            `json:"shell"`
}
