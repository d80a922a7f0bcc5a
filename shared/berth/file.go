package berth

import "time"

// FileKind tells files from folders in a listing.
type FileKind string

// The file kinds.
const (
	FileRegular   FileKind = "file"
	FileDirectory FileKind = "directory"
	FileOther     FileKind = "other"
)

// FileInfo describes a file of a sandbox.
type FileInfo struct {
	Path       string    `json:"path" doc:"Relative to the workspace"`
	Kind       FileKind  `json:"kind" enum:"file,directory,other"`
	Size       int64     `json:"size" doc:"Bytes"`
	Mode       uint32    `json:"mode" doc:"Permission bits"`
	ModifiedAt time.Time `json:"modified_at"`
}

// FileData is a piece of a file. For a directory, Entries lists it.
type FileData struct {
	Info    FileInfo   `json:"info"`
	Data    []byte     `json:"data"`
	Next    int64      `json:"next_offset"`
	EOF     bool       `json:"eof"`
	Entries []FileInfo `json:"entries,omitempty"`
}

// GrepQuery searches file contents under Path with a Go regular expression.
type GrepQuery struct {
	Pattern    string `json:"pattern" doc:"Regular expression (RE2)"`
	Path       string `json:"path,omitempty" doc:"File or folder, relative to the workspace"`
	Glob       string `json:"glob,omitempty" doc:"Only files that match, such as **/*.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Limit      int    `json:"limit,omitempty" doc:"Most matches; 1000 when 0"`
	Guard      string `json:"guard,omitempty" doc:"Marks the files that match as read by this name"`
}

// GrepMatch is one line that matches.
type GrepMatch struct {
	Path string `json:"path"`
	Line int    `json:"line" doc:"From 1"`
	Text string `json:"text" doc:"The line, cut at 2000 bytes on a rune's edge"`
}

// GrepResult is sorted by path and line. Truncated says that Limit cut it.
type GrepResult struct {
	Matches   []GrepMatch `json:"matches"`
	Truncated bool        `json:"truncated"`
}

// GlobQuery finds files: `*` and `?` within a segment, `**` as a whole one,
// case-sensitive, dot files match.
type GlobQuery struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty" doc:"Folder to start in, relative to the workspace"`
	Limit   int    `json:"limit,omitempty" doc:"Most paths; 1000 when 0"`
}

// GlobResult is sorted. Truncated says that Limit cut it.
type GlobResult struct {
	Paths     []string `json:"paths"`
	Truncated bool     `json:"truncated"`
}
