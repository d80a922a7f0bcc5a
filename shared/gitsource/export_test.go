package gitsource

// Impatient is a source that does not wait before it tries again.
func Impatient(c Credentials) Source { return Source{Credentials: c, retryPauses: []int{0, 0, 0}} }

// RemotePart and Functions are parts of the script that tests call.
var (
	RemotePart = remotePart
	Functions  = targetPart + remotePart
)
