//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/shared/berth"
)

// writeAccounts makes files of accounts; an empty text is no file.
func writeAccounts(t *testing.T, passwd, group string) accounts {
	t.Helper()
	dir := t.TempDir()
	a := accounts{filepath.Join(dir, "passwd"), filepath.Join(dir, "group")}
	for path, text := range map[string]string{a.passwd: passwd, a.group: group} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func TestUsersAreResolvedAsEnginesDo(t *testing.T) {
	t.Parallel()
	a := writeAccounts(t, `# comment:x:9:9::/:
root:x:0:0:root:/root:/bin/bash
broken
no-number:x:abc:1::/x:
app:x:1000:1001:App:/home/app:/bin/sh
app:x:7:7:the second counts for nothing:/no:
homeless:x:1002:1002
1234:x:1003:1003:a name of digits:/digits:
same:x:1000:55:another name of a number:/same:
`, `root:x:0:
app:x:1001:
more:x:2000:root,app
last:x:2001:other,app
like:x:2002:appx
bad:x:abc:app
short:x
app:x:3000:
`)
	none := writeAccounts(t, "", "")
	for _, tt := range []struct {
		name string
		in   accounts
		spec string
		want *identity
		code berth.Code
	}{
		{"nobody named", a, "", &identity{uid: 0, gid: 0, groups: []int{0, 2000}, home: "/root"}, ""},
		{"a name", a, "app", &identity{uid: 1000, gid: 1001, groups: []int{1001, 2000, 2001}, home: "/home/app"}, ""},
		{"a number with an account", a, "1000", &identity{uid: 1000, gid: 1001, groups: []int{1001, 2000, 2001}, home: "/home/app"}, ""},
		{"a number without one", a, "4321", &identity{uid: 4321, groups: []int{0}, home: "/"}, ""},
		{"a number is never a name", a, "1234", &identity{uid: 1234, groups: []int{0}, home: "/"}, ""},
		{"an account without a home", a, "homeless", &identity{uid: 1002, gid: 1002, groups: []int{1002}, home: "/"}, ""},
		{"a group by name takes the others away", a, "app:more", &identity{uid: 1000, gid: 2000, groups: []int{2000}, home: "/home/app"}, ""},
		{"a group by number", a, "app:2001", &identity{uid: 1000, gid: 2001, groups: []int{2001}, home: "/home/app"}, ""},
		{"a group without an entry", a, "app:77", &identity{uid: 1000, gid: 77, groups: []int{77}, home: "/home/app"}, ""},
		{"numbers alone", a, "5:6", &identity{uid: 5, gid: 6, groups: []int{6}, home: "/"}, ""},
		{"a group alone", a, ":more", &identity{uid: 0, gid: 2000, groups: []int{2000}, home: "/root"}, ""},
		{"a user and an empty group", a, "app:", &identity{uid: 1000, gid: 1001, groups: []int{1001, 2000, 2001}, home: "/home/app"}, ""},
		{"a name that is not there", a, "stranger", nil, berth.CodeInvalid},
		{"a group that is not there", a, "app:strangers", nil, berth.CodeInvalid},
		{"a negative number", a, "-1", nil, berth.CodeInvalid},
		{"a number out of range", a, "4294967296", nil, berth.CodeInvalid},
		{"no files and nobody named", none, "", &identity{groups: []int{0}, home: "/"}, ""},
		{"no files and numbers", none, "5:6", &identity{uid: 5, gid: 6, groups: []int{6}, home: "/"}, ""},
		{"no files and a name", none, "app", nil, berth.CodeInvalid},
	} {
		got, err := tt.in.find(tt.spec)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(identity{})); diff != "" || berth.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want %q (-want +got):\n%s", tt.name, err, tt.code, diff)
		}
	}
}

func TestAccountsThatAreNoFilesHoldNothingUp(t *testing.T) {
	t.Parallel()
	a := accounts{t.TempDir(), filepath.Join(t.TempDir(), "group")}
	if err := os.Symlink("/dev/zero", a.group); err != nil {
		t.Fatal(err)
	}
	if got, err := a.find("5:6"); err != nil || got.uid != 5 || got.gid != 6 {
		t.Errorf("find = %+v, %v", got, err)
	}
}
