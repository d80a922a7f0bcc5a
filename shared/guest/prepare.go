//go:build linux

package guest

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
)

// prepare is what process 1 of a container does first: it finds the user that
// the image names, and makes the workspace, which is that user's.
func (g *Guest) prepare() (err error) {
	if g.user, err = imageAccounts.find(g.config.User); err != nil {
		return err
	}
	if !g.config.KeepHome {
		g.environ = withHome(g.environ, g.user.home)
	}
	return g.makeWorkspace()
}

// withHome sets HOME. Whoever started the guest has set that of the guest's user.
func withHome(environ []string, home string) []string {
	kept := make([]string, 0, len(environ)+1)
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "HOME=") {
			kept = append(kept, entry)
		}
	}
	return append(kept, "HOME="+home)
}

func (g *Guest) makeWorkspace() error {
	dir := g.config.Workspace
	fault := func(err error) error {
		return &berth.Error{Code: berth.CodeInvalid, Message: "the workspace " + dir + " cannot be made: " + err.Error(), Cause: err}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fault(err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fault(err)
	}
	// What a link leads to, and what was mounted, is not the guest's to give away.
	if !info.IsDir() || g.config.KeepOwner {
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == g.user.uid {
		return nil
	}
	if err := os.Lchown(dir, g.user.uid, g.user.gid); err != nil {
		return fault(err)
	}
	return nil
}
