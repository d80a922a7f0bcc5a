//go:build windows

package shell

import "io/fs"

// ownedByUs is true: temporary files are the user's own there.
func ownedByUs(fs.FileInfo) bool { return true }
