package gitsource_test

import (
	"os/exec"
	"testing"
)

// tools are all programs that the clone may use beside bash and git, as busybox
// has them where there is one.
func tools(t *testing.T) map[string]string {
	t.Helper()
	names := []string{"mkdir", "mv", "rm", "sleep"}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return programs(t, names...)
	}
	links := map[string]string{}
	for _, name := range names {
		links[name] = busybox
	}
	return links
}

// programs finds programs in PATH. Without git the test is skipped.
func programs(t *testing.T, names ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range names {
		file, err := exec.LookPath(name)
		switch {
		case err == nil:
			found[name] = file
		case name == "git":
			t.Skip("no git in PATH")
		default:
			t.Fatal(err)
		}
	}
	return found
}
