package berth

import (
	"context"
	"io"
	"time"
)

// SandboxSpec is what a provider needs to make a sandbox. It holds no
// environment variables: those go to each command through the guest.
type SandboxSpec struct {
	ID           SandboxID
	Installation InstallationID
	Run          RunID
	Environment  Environment
	// Directory is the resolved working directory of a local sandbox; other
	// providers have their own workspace and ignore it.
	Directory string
	Labels    map[string]string
	// Host is what placement chose; empty for providers without hosts.
	Host HostID
}

// SandboxRef addresses an existing sandbox. It is made from its record.
type SandboxRef struct {
	ID   SandboxID
	Host HostID
	Ref  string
}

// RefOf makes the address of a recorded sandbox.
func RefOf(s Sandbox) SandboxRef { return SandboxRef{s.ID, s.Host, s.Ref} }

// SandboxState is what a provider knows of a sandbox now.
type SandboxState struct {
	ID        SandboxID
	Run       RunID
	Status    SandboxStatus // creating, ready, stopped, failed or gone
	Ref       string
	Workspace string
	Hint      string  // how a person gets in
	Reason    *Reason // for failed
	Detail    string  // progress, such as "pulling 40%"
	CreatedAt time.Time
	Host      HostID // where it is; empty for providers without hosts
}

// CommandSpec is one process to start. Start it with the same ID again and
// nothing happens; with the same ID and another Argv it is a conflict.
type CommandSpec struct {
	ID CommandID
	// Argv is run exactly; Script is run by bash -c. One of them is set.
	Argv   []string
	Script string
	// Dir is where it starts: absolute, or relative to the workspace; empty is the workspace.
	Dir string
	// Env are the declared variables, resolved; they win over the sandbox's own.
	Env map[string]string
	// Mask are secret values: each is masked in the output before it is kept.
	Mask []SecretValue
	// Timeout ends the whole process tree; zero is none. The guest enforces it.
	Timeout time.Duration
	// Stdin keeps standard input open for WriteInput; otherwise it is empty.
	Stdin bool
	// OutputCap is the most output that is kept, in bytes; zero is DefaultOutputCap.
	OutputCap int64
}

// DefaultOutputCap is how much of a command's output is kept; after it comes a mark.
const DefaultOutputCap = 1 << 30

// MaxOutputRead is the most that one read of output or of a file returns, in bytes.
const MaxOutputRead = 1 << 20

// Output is a piece of a command's spool: whole frames from offset to Next.
// Bytes is the raw spool (package spool reads it).
type Output struct {
	Bytes []byte
	Next  int64
	// Ended is true when the exit frame lies before Next; Exit is then set.
	Ended bool
	Exit  *Exit
}

// CommandState is what is known of a command without its output.
type CommandState struct {
	ID        CommandID
	Status    CommandStatus
	StartedAt time.Time
	Exit      *Exit
}

// Provider is the seam between berth and a kind of sandbox. Every method may be
// called again with the same arguments, from another process, after any part
// died; the effect happens once. The rules that hold on all of them are in
// package sandboxtest.
//
// Errors: not_found for a sandbox, command or file that is not there; conflict
// for a sandbox in the wrong state, an id used with another command, and the
// guard; invalid for bad paths; unsupported; too_large; unavailable when the
// provider does not answer; timed_out.
type Provider interface {
	Kind() ProviderKind
	// Provision makes the sandbox or returns the one that is there. It returns
	// soon: status creating means "ask Describe again". It is ready only when
	// bash has answered. A failed provision leaves nothing behind.
	Provision(ctx context.Context, spec SandboxSpec) (SandboxState, error)
	// Describe returns status gone for a sandbox that does not exist.
	Describe(ctx context.Context, ref SandboxRef) (SandboxState, error)
	// Stop ends all commands and keeps files; Start makes it ready again, or
	// returns with status creating, as Provision does.
	Stop(ctx context.Context, ref SandboxRef) error
	Start(ctx context.Context, ref SandboxRef) (SandboxState, error)
	// Destroy leaves nothing of ours behind; a sandbox that is gone is no error.
	Destroy(ctx context.Context, ref SandboxRef) error
	// List returns every sandbox of this installation, for the sweeper.
	List(ctx context.Context) ([]SandboxState, error)

	StartCommand(ctx context.Context, ref SandboxRef, spec CommandSpec) error
	DescribeCommand(ctx context.Context, ref SandboxRef, id CommandID) (CommandState, error)
	// ReadOutput returns whole frames from offset, at most limit bytes (one
	// frame at least). With nothing there yet it waits up to wait. A sandbox
	// that died answers with an exit of reason lost, not with an error.
	ReadOutput(ctx context.Context, ref SandboxRef, id CommandID, offset int64, limit int, wait time.Duration) (Output, error)
	// WriteInput appends data at offset to standard input and returns the new
	// offset; bytes below the present offset are skipped, a gap is a conflict.
	WriteInput(ctx context.Context, ref SandboxRef, id CommandID, offset int64, data []byte, eof bool) (int64, error)
	// Signal sends to the command's process group. For a command that has not
	// started, KILL, TERM and INT leave a tombstone: it never starts and its exit is cancelled.
	Signal(ctx context.Context, ref SandboxRef, id CommandID, signal string) error
	// Cancel ends the whole process tree; the exit's reason is cancelled. Like
	// Signal it leaves a tombstone for a command that has not started.
	Cancel(ctx context.Context, ref SandboxRef, id CommandID) error

	Files
}

// Files are a sandbox's file operations. Relative paths resolve in the
// workspace; no path may leave it, also not through a link. guard, when not
// empty, is read-before-write: what that name has not read, or what changed
// since, may not be replaced or deleted (conflict).
type Files interface {
	ReadFile(ctx context.Context, ref SandboxRef, path string, offset, limit int64, guard string) (FileData, error)
	// WriteFile replaces the file as a whole and makes parent folders. size is
	// the number of bytes that r must give.
	WriteFile(ctx context.Context, ref SandboxRef, path string, r io.Reader, size int64, mode uint32, guard string) (FileInfo, error)
	DeleteFile(ctx context.Context, ref SandboxRef, path string, guard string) error
	Grep(ctx context.Context, ref SandboxRef, q GrepQuery) (GrepResult, error)
	Glob(ctx context.Context, ref SandboxRef, q GlobQuery) (GlobResult, error)
}

// Optional powers are separate interfaces, found by assertion.
type (
	// ShellOpener gives a command line that opens a shell in the sandbox.
	ShellOpener interface {
		OpenShell(ctx context.Context, ref SandboxRef, ttl time.Duration) (command string, err error)
	}
	// Previewer gives a URL of a port in the sandbox.
	Previewer interface {
		Preview(ctx context.Context, ref SandboxRef, port int, ttl time.Duration) (url string, err error)
	}
	// Snapshotter keeps a sandbox's file system under a name.
	Snapshotter interface {
		Snapshot(ctx context.Context, ref SandboxRef, name string) error
	}
	// Asker asks the machine where an environment's sandboxes would be, and makes
	// nothing. said is for people; asked is false where there was nobody to ask.
	// Errors: those of Provision that say why the machine cannot be used.
	Asker interface {
		Ask(ctx context.Context, e Environment) (said string, asked bool, err error)
	}
)
