//go:build unix

package privatefile

import "io/fs"

func readableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
