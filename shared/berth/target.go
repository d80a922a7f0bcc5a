package berth

// TargetKind says where a run's code comes from.
type TargetKind string

// The target kinds. The zero value means that none was sent: on local the
// directory rules decide, elsewhere it is none.
const (
	TargetGit    TargetKind = "git"
	TargetNone   TargetKind = "none"
	TargetFolder TargetKind = "folder"
)

// Target is where the code comes from. Git uses Origin, Branch, Tag and SHA
// (an exact SHA beats a tag; nothing falls back to the branch), folder uses Path.
type Target struct {
	Kind   TargetKind `json:"kind,omitempty" enum:"git,none,folder"`
	Origin string     `json:"origin,omitempty"`
	Branch string     `json:"branch,omitempty"`
	Tag    string     `json:"tag,omitempty"`
	SHA    string     `json:"sha,omitempty"`
	Path   string     `json:"path,omitempty"`
}
