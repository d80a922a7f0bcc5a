package agentapi

import (
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

// Move is a berth.Move without its id, which is in the path. Its URL is a secret:
// whoever has it may read or write the bytes.
type Move struct {
	Direction berth.TransferDirection `json:"direction"`
	Path      wire.Text               `json:"path"`
	URL       Secret                  `json:"url"`
	Size      int64                   `json:"size,omitempty"`
	SHA256    string                  `json:"sha256,omitempty"`
	Mode      uint32                  `json:"mode,omitempty"`
}

// MoveOf converts to the wire.
func MoveOf(m berth.Move) Move {
	return Move{m.Direction, wire.Text(m.Path), Secret{berth.NewSecretValue([]byte(m.URL))}, m.Size, m.SHA256, m.Mode}
}

// Spec converts from the wire.
func (m Move) Spec(id string) berth.Move {
	return berth.Move{
		ID: id, Direction: m.Direction, Path: string(m.Path), URL: string(m.URL.Reveal()), Size: m.Size, SHA256: m.SHA256, Mode: m.Mode,
	}
}

// MoveState is a berth.MoveState.
type MoveState struct {
	Status berth.TransferStatus `json:"status"`
	Reason *berth.Reason        `json:"reason,omitempty"`
	Moved  int64                `json:"moved"`
	Size   int64                `json:"size"`
	SHA256 string               `json:"sha256,omitempty"`
	Mode   uint32               `json:"mode,omitempty"`
}

func startMove(x *exchange) error {
	var m Move
	if err := x.decode(&m); err != nil {
		return err
	}
	// Before the answer, so that a sandbox that is not there is an error of its own.
	state, err := x.provider.Describe(x.r.Context(), x.ref)
	if err != nil {
		return err
	}
	if state.Status == berth.SandboxGone {
		return berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	if err := x.server.moves.Start(x.provider, x.ref, m.Spec(x.r.PathValue("move"))); err != nil {
		return err
	}
	return x.answer(nil)
}

func describeMove(x *exchange) error {
	state, err := x.server.moves.Describe(x.provider.Kind(), x.ref.ID, x.r.PathValue("move"))
	if err != nil {
		return err
	}
	return x.answer(MoveState(state))
}
