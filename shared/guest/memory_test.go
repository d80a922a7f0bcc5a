//go:build linux

package guest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
)

func TestTheControlGroupIsFoundInBothVersions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/b/memory.events": "low 0\noom 3\noom_kill 2\noom_group_kill 0\n", "a/b/memory.max": "67108864\n",
		"memory/c/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n", "memory/c/memory.limit_in_bytes": "9223372036854771712\n",
		"memory/memory.oom_control": "oom_kill 7\n", "memory/memory.limit_in_bytes": "1048576\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, self string
		kills      int64
		text       string
	}{
		{"version 2", "0::/a/b\n", 2, "the memory limit of 64 MiB was reached"},
		{"version 1", "5:devices:/\n4:memory:/c\n0::/\n", 5, "the machine's memory was used up"},
		{"version 1, mounted as the root", "4:memory:/docker/x\n", 7, "the memory limit of 1 MiB was reached"},
		{"none", "5:devices:/\n0::/\nnonsense", 0, "the machine's memory was used up"},
	} {
		m := memoryOf(tt.self, root)
		if m.kills() != tt.kills || m.describe() != tt.text {
			t.Errorf("%s: %d kills, %q; want %d, %q", tt.name, m.kills(), m.describe(), tt.kills, tt.text)
		}
	}
	m := memoryOf("0::/a/b", root)
	for _, tt := range []struct {
		exit   berth.Exit
		before int64
		want   berth.ExitReason
	}{
		{berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitSignalled}, 1, berth.ExitOutOfMemory},
		{berth.Exit{Code: 137, Reason: berth.ExitExited}, 1, berth.ExitOutOfMemory},
		{berth.Exit{Code: 137, Signal: "KILL", Reason: berth.ExitSignalled}, 2, berth.ExitSignalled},
		{berth.Exit{Code: 1, Reason: berth.ExitExited}, 1, berth.ExitExited},
	} {
		if got := m.outOfMemory(tt.exit, tt.before); got.Reason != tt.want || got.Code != tt.exit.Code {
			t.Errorf("outOfMemory(%+v, %d) = %+v, want %s", tt.exit, tt.before, got, tt.want)
		}
	}
}
