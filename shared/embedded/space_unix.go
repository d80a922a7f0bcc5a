//go:build unix

package embedded

import "golang.org/x/sys/unix"

// FreeBytes is how much an ordinary user can still write below dir.
func FreeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
