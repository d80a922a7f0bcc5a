package runner

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// State is what travels through the state machine: ids and small cursors. The
// record of the run is in the table.
type State struct {
	Run       berth.RunID       `json:"run"`
	Execution berth.ExecutionID `json:"execution,omitempty"`
	// Next is read by the Choice behind a task.
	Next  Next          `json:"next,omitempty"`
	Stage berth.StageID `json:"stage,omitempty"`
	// WaitSeconds is how long the Wait behind a task lasts.
	WaitSeconds int `json:"wait_seconds"`
	// Polls counts how often the same was asked in a row; it lengthens the waits.
	Polls int `json:"polls"`
	// Tried is when the provider last left a try to make the sandbox without an answer.
	Tried time.Time `json:"tried,omitzero"`
	// Turns counts the loops of this execution, whose history has a limit.
	Turns int `json:"turns"`
	// Failure is what no retry got over.
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is an error as a Catch passes it on.
type Failure struct {
	Error string `json:"Error"`
	Cause string `json:"Cause"`
}

// Next is where a task sends the machine.
type Next string

// The ways on. Each Choice knows some of them.
const (
	NextProvision Next = "provision"
	NextAdvance   Next = "advance"
	NextStart     Next = "start"
	NextTeardown  Next = "teardown"
	NextContinue  Next = "continue"
	NextWait      Next = "wait"   // for room, or for the sandbox
	NextFollow    Next = "follow" // attach again at once
	NextAwait     Next = "await"  // until the host agent nudges
	NextPause     Next = "pause"  // and ask again
)

// defaultMaxTurns ends an execution long before Step Functions' 25,000 events: a loop
// takes 15 at most, and its retries some more.
const defaultMaxTurns = 1000

func (s State) to(next Next) State {
	s.Next, s.Polls, s.WaitSeconds, s.Tried = next, 0, 0, time.Time{}
	return s
}

// toStage goes on with a stage.
func (s State) toStage(next Next, stage berth.StageID) State {
	s = s.to(next)
	s.Stage = stage
	return s
}

// loop goes on with what has been tried before, or with the next execution when
// this one has gone on for long enough.
func (r *Runner) loop(s State, next Next, waitSeconds int) State {
	most := r.MaxTurns
	if most == 0 {
		most = defaultMaxTurns
	}
	s.Next, s.WaitSeconds = next, waitSeconds
	s.Polls++
	s.Turns++
	if s.Turns >= most {
		s.Next = NextContinue
	}
	return s
}

// doubling is 1, 2, 4 … seconds, up to most.
func doubling(polls, most int) int {
	return min(1<<min(polls, 10), most)
}

// Input is what an execution of a run starts with.
func Input(run berth.RunID) []byte {
	encoded, err := json.Marshal(State{Run: run})
	if err != nil { // ids and numbers always encode
		panic(err)
	}
	return encoded
}

// ExecutionID names the execution of a run by its sequence number, from 1.
func ExecutionID(run berth.RunID, seq int) berth.ExecutionID {
	return berth.ExecutionID(fmt.Sprintf("%s-%d", run, seq))
}

// sequence reads the number back; 0 for what is no execution of the run.
func sequence(run berth.RunID, id berth.ExecutionID) int {
	text, ok := strings.CutPrefix(string(id), string(run)+"-")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0
	}
	return n
}
