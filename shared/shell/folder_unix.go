//go:build unix

package shell

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs keeps out of folders in which another user could have put a link.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid()) && info.Mode().Perm()&0o077 == 0
}
