package berth

import "context"

// Mover is the optional power of a provider to move a file between a signed URL
// and a sandbox by itself, where the sandbox is: the server then only looks how
// far it is.
type Mover interface {
	// StartMove returns soon. A move of the same ID that goes on or is done stays
	// as it is, one that has failed begins anew. Errors: invalid, conflict for an ID
	// used with another move, rate_limited, unavailable; unsupported when the server
	// has to move the file itself.
	StartMove(ctx context.Context, ref SandboxRef, move Move) error
	// DescribeMove says how far a move is; not_found for one that nothing is known
	// of any more.
	DescribeMove(ctx context.Context, ref SandboxRef, id string) (MoveState, error)
}

// MaxMoveBytes is the largest file that goes to a signed URL: what S3 takes at once.
const MaxMoveBytes = 5 << 30

// Move is one file that goes between a signed URL and a sandbox.
type Move struct {
	ID        string // a ULID; the transfer's
	Direction TransferDirection
	Path      string // of the file, in the sandbox
	// URL is read by GET for an upload, and written by PUT for a download. Whoever
	// has it can do that: it is nothing for a log.
	URL string
	// Size and SHA256 are what the bytes must have. A download may leave either
	// empty for what the file has.
	Size   int64
	SHA256 string // hex
	Mode   uint32 // permission bits of an uploaded file
}

// MoveState is how far a move is.
type MoveState struct {
	Status TransferStatus // moving, done or failed
	Reason *Reason        // for failed
	Moved  int64          // bytes so far
	// Size, SHA256 and Mode are of a file that is done.
	Size   int64
	SHA256 string
	Mode   uint32
}
