package wire

import (
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Hello is the guest's first message on each connection.
type Hello struct {
	Version      int    `json:"version"`
	PID          int    `json:"pid"`
	SandboxStart string `json:"sandbox_start"`
}

// Probe asks whether the sandbox is ready, and what is at the given paths.
type Probe struct {
	Mounts []Text `json:"mounts,omitempty"`
}

// Probed says who commands run as, and which files the asked paths are.
type Probed struct {
	UID    int      `json:"uid"`
	GID    int      `json:"gid"`
	Mounts []FileID `json:"mounts,omitempty"`
}

// FileID is one file of the machine, whatever its name.
type FileID struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Look says that the command's spool has grown or ended.
type Look struct {
	ID berth.CommandID `json:"id"`
}

// Command is what OpStart starts. The spool comes as a descriptor that is open
// for reading and appending.
type Command struct {
	ID   berth.CommandID `json:"id"`
	Hash string          `json:"hash"`
	// SandboxStart is for a guest that was not told its start.
	SandboxStart string     `json:"sandbox_start,omitempty"`
	Argv         []Text     `json:"argv,omitempty"`
	Script       Text       `json:"script,omitempty"`
	Dir          Text       `json:"dir,omitempty"`
	Env          []Variable `json:"env,omitempty"`
	// Mask are secrets. They are in no log and no file.
	Mask      []Text        `json:"mask,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`
	Stdin     bool          `json:"stdin,omitempty"`
	OutputCap int64         `json:"output_cap"`
}

// Variable is one declared variable of the environment.
type Variable struct {
	Name  Text `json:"name"`
	Value Text `json:"value"`
}

// Signal is for a command's process group; Name is without SIG.
type Signal struct {
	ID   berth.CommandID `json:"id"`
	Name string          `json:"name,omitempty"`
}

// Input is a piece of standard input, in the body.
type Input struct {
	ID     berth.CommandID `json:"id"`
	Offset int64           `json:"offset"`
	EOF    bool            `json:"eof,omitempty"`
}

// Offset answers Input: how much of standard input is accepted. It is less than
// what was sent when the command does not read fast enough.
type Offset struct {
	Offset int64 `json:"offset"`
}

// Read asks for a piece of a file or a page of a folder.
type Read struct {
	Path   Text   `json:"path"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
	Guard  string `json:"guard,omitempty"`
}

// ReadResult is berth.FileData without its data.
type ReadResult struct {
	File    File   `json:"file"`
	Next    int64  `json:"next"`
	EOF     bool   `json:"eof"`
	Entries []File `json:"entries,omitempty"`
}

// Write replaces a file. With OpWrite the body is its content.
type Write struct {
	Path  Text   `json:"path"`
	Size  int64  `json:"size"`
	Mode  uint32 `json:"mode"`
	Guard string `json:"guard,omitempty"`
}

// Upload names a write that goes on over several requests. It ends with the
// connection.
type Upload struct {
	Upload uint64 `json:"upload"`
	Abort  bool   `json:"abort,omitempty"`
}

// Delete removes a file.
type Delete struct {
	Path  Text   `json:"path"`
	Guard string `json:"guard,omitempty"`
}

// File is berth.FileInfo.
type File struct {
	Path       Text           `json:"path"`
	Kind       berth.FileKind `json:"kind"`
	Size       int64          `json:"size"`
	Mode       uint32         `json:"mode"`
	ModifiedAt time.Time      `json:"modified_at"`
}

// FileOf converts to the wire.
func FileOf(i berth.FileInfo) File {
	return File{Text(i.Path), i.Kind, i.Size, i.Mode, i.ModifiedAt}
}

// Info converts from the wire.
func (f File) Info() berth.FileInfo {
	return berth.FileInfo{Path: string(f.Path), Kind: f.Kind, Size: f.Size, Mode: f.Mode, ModifiedAt: f.ModifiedAt}
}

// Grep is berth.GrepQuery.
type Grep struct {
	Pattern    Text   `json:"pattern"`
	Path       Text   `json:"path,omitempty"`
	Glob       Text   `json:"glob,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Limit      int    `json:"limit"`
	Guard      string `json:"guard,omitempty"`
}

// GrepMatch is berth.GrepMatch.
type GrepMatch struct {
	Path Text `json:"path"`
	Line int  `json:"line"`
	Text Text `json:"text"`
}

// GrepResult is berth.GrepResult.
type GrepResult struct {
	Matches   []GrepMatch `json:"matches"`
	Truncated bool        `json:"truncated"`
}

// Glob is berth.GlobQuery.
type Glob struct {
	Pattern Text `json:"pattern"`
	Path    Text `json:"path,omitempty"`
	Limit   int  `json:"limit"`
}

// GlobResult is berth.GlobResult.
type GlobResult struct {
	Paths     []Text `json:"paths"`
	Truncated bool   `json:"truncated"`
}
