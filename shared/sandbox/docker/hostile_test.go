//go:build linux

package docker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// hostile is a sandbox with the program of bad intentions in it, which runs as root.
func hostile(t *testing.T) *box {
	t.Helper()
	b := sandbox(t, config(t), specOf(dockertest.Debian))
	b.put("hostile", buildHostile(t))
	return b
}

func TestRootInsideCannotSpeakToTheAgentAsTheGuest(t *testing.T) {
	t.Parallel()
	config := config(t)
	b := sandbox(t, config, specOf(dockertest.Debian))
	b.put("hostile", buildHostile(t))
	id := b.start(berth.CommandSpec{Script: "echo up; for i in {1..3}; do ./hostile connect; done"})
	b.untilOutput(id)
	// What the agent asks goes to the guest alone: while it is connected, and while
	// the agent comes back and it is not.
	for round := range 6 {
		if round >= 3 {
			b.reopen(config)
		}
		for i := range 20 {
			if got := b.script(fmt.Sprint("echo ", i)); got != fmt.Sprintln(i) {
				t.Errorf("command %d prints %q", i, got)
			}
		}
	}
	if got, exit := b.wait(id); got != "up\ntried\ntried\ntried\n" || !exit.Succeeded() {
		t.Errorf("the hostile program says:\n%s%+v", got, exit)
	}
	if got := b.script("echo alive"); got != "alive\n" {
		t.Errorf("afterwards: %q", got)
	}
}

func TestRootInsideCannotReachTheGuestsMemoryOrDescriptors(t *testing.T) {
	t.Parallel()
	for _, image := range []string{dockertest.Debian, dockertest.User} {
		b := sandbox(t, config(t), specOf(image))
		b.put("hostile", buildHostile(t))
		// Where commands have another user than the guest, a start changes it in a
		// process that shares the guest's memory.
		b.script("true")
		if got := b.script("./hostile memory"); got != "" {
			t.Errorf("%s: the hostile program says:\n%s", image, got)
		}
	}
}

func TestAnotherCommandsExitCannotBeForged(t *testing.T) {
	t.Parallel()
	config := config(t)
	b := sandbox(t, config, specOf(dockertest.Debian))
	b.put("hostile", buildHostile(t))
	victim := b.start(berth.CommandSpec{ID: "victim", Script: "echo up; until [ -e go ]; do sleep 0.05; done; exit 7"})
	b.untilOutput(victim)
	// The spool is nowhere in the container, nor is a way to it.
	if got := b.script("./hostile connect memory | grep -v tried; find / /run/berth -xdev -name victim 2>/dev/null; ls -l /proc/[0-9]*/fd 2>/dev/null | grep spool; true"); strings.Contains(got, "succeeded") || strings.Contains(got, "victim") {
		t.Errorf("the hostile program says:\n%s", got)
	}
	b.script("touch go")
	if text, exit := b.wait(victim); exit.Code != 7 || exit.Reason != berth.ExitExited || text != "up\n" {
		t.Errorf("the victim: %q, %+v", text, exit)
	}
}

func TestTheAgentsFolderCannotBeChangedFromInside(t *testing.T) {
	t.Parallel()
	config := config(t)
	b := sandbox(t, config, specOf(dockertest.Debian))
	b.put("hostile", buildHostile(t))
	if got := b.script("./hostile folder"); got != "" {
		t.Errorf("the hostile program says:\n%s", got)
	}
	entries, err := os.ReadDir(filepath.Join(config.Root, string(b.ref.ID), "link"))
	if err != nil || len(entries) != 1 || entries[0].Type() != os.ModeSocket {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	b.reopen(config)
	if got := b.script("echo alive"); got != "alive\n" {
		t.Errorf("after the agent came back: %q", got)
	}
}

func TestSignalsFromInsideChangeNothing(t *testing.T) {
	t.Parallel()
	b := hostile(t)
	other := b.start(berth.CommandSpec{Script: "echo up; until [ -e go ]; do sleep 0.05; done; exit 3"})
	b.untilOutput(other)
	pid := guestPID(t, engine(t), b.ref.ID)
	b.script("for s in QUIT HUP INT TERM; do kill -$s 1; done")
	if got := b.script("./hostile signals"); got != "signals: 64\n" {
		t.Errorf("the hostile program says: %s", got)
	}
	b.script("touch go")
	if _, exit := b.wait(other); exit.Code != 3 {
		t.Errorf("another command: %+v", exit)
	}
	if now := guestPID(t, engine(t), b.ref.ID); now != pid {
		t.Errorf("process 1 was %d and is %d", pid, now)
	}
	// A command that ends meanwhile is not overlooked.
	if got := b.script("kill -CHLD 1; kill -TERM 1; echo alive"); got != "alive\n" {
		t.Errorf("afterwards: %q", got)
	}
}

func TestOutputCannotFillTheMachinesDisk(t *testing.T) {
	t.Parallel()
	config := config(t)
	b := sandbox(t, config, specOf(dockertest.Debian))
	const outputCap = 1 << 20
	id := b.start(berth.CommandSpec{Script: "yes | head -c 50000000; yes error | head -c 50000000 >&2; exit 4", OutputCap: outputCap})
	text, exit := b.wait(id)
	if exit.Code != 4 || len(text) > outputCap+200 {
		t.Errorf("%d bytes, %+v", len(text), exit)
	}
	spoolFile := filepath.Join(config.Root, string(b.ref.ID), "spool", string(id))
	if info, err := os.Stat(spoolFile); err != nil || info.Size() > outputCap+64<<10 {
		t.Errorf("the spool: %+v, %v", info, err)
	}
	// What the guest prints itself is not kept without an end either.
	if limit := dockerCommand(t, "inspect", "-f", "{{json .HostConfig.LogConfig}}", containerOf(b.ref)); !strings.Contains(limit, `"max-size":"64k"`) {
		t.Errorf("the engine's log of the container: %s", limit)
	}
}

func TestAGuestThatWritesPastTheCapIsEnded(t *testing.T) {
	t.Parallel()
	config := config(t)
	b := sandbox(t, config, specOf(dockertest.Debian))
	id := b.start(berth.CommandSpec{Script: "echo up; while sleep 0.05; do echo more; done", OutputCap: 1000})
	b.untilOutput(id)
	// A guest in its senses would not write this.
	f, err := os.OpenFile(filepath.Join(config.Root, string(b.ref.ID), "spool", string(id)), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(10 << 20); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sandbox is ended", func() bool {
		state, err := b.Describe(bounded(t), b.ref)
		return err == nil && state.Status == berth.SandboxFailed && state.Reason != nil && strings.Contains(state.Reason.Message, string(id))
	})
}

func TestAThousandOrphansLoseNoExitAndLeaveNoZombie(t *testing.T) {
	t.Parallel()
	b := sandbox(t, config(t), specOf(dockertest.Debian))
	orphans := b.start(berth.CommandSpec{Script: `for i in {1..1000}; do ( ( exec sleep 0.0$((RANDOM % 10)) ) & ) ; done; echo done`})
	var ids []berth.CommandID
	for i := range 10 {
		ids = append(ids, b.start(berth.CommandSpec{Script: fmt.Sprintf("for n in 1 2 3 4 5; do bash -c 'exit %d'; [ $? = %d ] || exit 99; sleep 0.05; done; exit %d", i, i, i)}))
	}
	for i, id := range ids {
		if text, exit := b.wait(id); exit.Code != i || exit.Reason != berth.ExitExited {
			t.Errorf("command %d: %q, %+v", i, text, exit)
		}
	}
	if text, exit := b.wait(orphans); text != "done\n" || !exit.Succeeded() {
		t.Errorf("the orphans' parent: %q, %+v", text, exit)
	}
	eventually(t, "no orphan is left", func() bool {
		return strings.TrimSpace(b.script("ps -eo stat=,comm= | grep -c -e '^Z' -e ' sleep$' || true")) == "0"
	})
}
