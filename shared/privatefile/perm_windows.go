//go:build windows

package privatefile

import "io/fs"

// readableByOthers is false: on Windows the mode bits do not tell, and the data
// folder inherits the access list of the user's profile.
func readableByOthers(fs.FileInfo) bool { return false }
