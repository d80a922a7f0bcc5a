//go:build linux

package guest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/berth-dev/berth/shared/berth"
)

const (
	// maxAccounts bounds what is read of either file, in bytes.
	maxAccounts = 8 << 20
	maxID       = 1<<31 - 1
)

// accounts are the files that an image names its users and groups in.
type accounts struct{ passwd, group string }

var imageAccounts = accounts{"/etc/passwd", "/etc/group"}

// find resolves the user of an image, "user", "user:group" or either as
// a number, as engines do it: names are looked up, numbers need no entry, and
// supplementary groups come only without a group of one's own. An empty user is
// root. Errors: invalid, for a name without an entry.
func (a accounts) find(spec string) (*identity, error) {
	userArg, groupArg, _ := strings.Cut(spec, ":")
	if userArg == "" {
		userArg = "0"
	}
	who := &identity{home: "/"}
	uid, numeric := parseID(userArg)
	name, found := "", false
	err := eachLine(a.passwd, func(fields []string) bool {
		if len(fields) < 4 {
			return true
		}
		id, ok := parseID(fields[2])
		if !ok || numeric && id != uid || !numeric && fields[0] != userArg {
			return true
		}
		name, found, who.uid = fields[0], true, id
		who.gid, _ = parseID(fields[3])
		if len(fields) > 5 && fields[5] != "" {
			who.home = fields[5]
		}
		return false
	})
	switch {
	case err != nil:
		return nil, err
	case !found && !numeric:
		return nil, noAccount("user", userArg)
	case !found:
		who.uid = uid
	}
	if err := a.findGroups(who, name, groupArg); err != nil {
		return nil, err
	}
	return who, nil
}

// findGroups sets the group that was asked for, or adds those that name is in.
func (a accounts) findGroups(i *identity, name, groupArg string) error {
	gid, numeric := parseID(groupArg)
	found := false
	var more []int
	err := eachLine(a.group, func(fields []string) bool {
		if len(fields) < 3 {
			return true
		}
		id, ok := parseID(fields[2])
		switch {
		case !ok:
		case groupArg != "":
			if found = numeric && id == gid || !numeric && fields[0] == groupArg; found {
				i.gid = id
			}
		case name != "" && len(fields) > 3:
			for _, member := range strings.Split(fields[3], ",") {
				if member == name {
					more = append(more, id)
					break
				}
			}
		}
		return !found
	})
	switch {
	case err != nil:
		return err
	case groupArg != "" && !found && !numeric:
		return noAccount("group", groupArg)
	case groupArg != "" && !found:
		i.gid = gid
	}
	i.groups = append([]int{i.gid}, more...)
	return nil
}

func noAccount(kind, name string) error {
	return &berth.Error{
		Code: berth.CodeInvalid, Field: "image.docker", Message: fmt.Sprintf("the image has no %s %q, which it is to run as", kind, name),
		Remediation: "Add it to the image, or name the " + kind + " by its number in the image's USER.",
	}
}

func parseID(s string) (int, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return int(n), err == nil && n >= 0 && n <= maxID
}

// eachLine hands on the fields of each line until take returns false. A file
// that is not there has no lines, as has what is no file.
func eachLine(path string, take func(fields []string) bool) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the image's accounts: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxAccounts))
	lines.Buffer(nil, maxAccounts)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line != "" && !strings.HasPrefix(line, "#") && !take(strings.Split(line, ":")) {
			break
		}
	}
	return lines.Err()
}
