//go:build linux

package docker_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/docker/dockertest"
)

// limited is a sandbox with a memory limit.
func limited(t *testing.T, limit berth.Size) *box {
	t.Helper()
	spec := specOf(dockertest.Debian)
	spec.Environment.Resources.Memory = &limit
	return sandbox(t, config(t), spec)
}

func TestACommandOverTheMemoryLimitIsToldAndOthersGoOn(t *testing.T) {
	t.Parallel()
	b := limited(t, "64MiB")
	other := b.start(berth.CommandSpec{Script: "echo up; until [ -e go ]; do sleep 0.05; done; exit 5"})
	b.untilOutput(other)
	for name, command := range map[string]berth.CommandSpec{
		"the command itself": {Argv: []string{"tail", "/dev/zero"}},
		"a child of it":      {Script: "tail /dev/zero"},
	} {
		text, exit := b.wait(b.start(command))
		if exit.Reason != berth.ExitOutOfMemory || exit.Code != 137 || !strings.Contains(exit.Message, "64 MiB") {
			t.Errorf("%s: %q, %+v", name, text, exit)
		}
	}
	// A kill by hand is no want of memory, although there has been one before.
	if _, exit := b.wait(b.start(berth.CommandSpec{Script: "kill -9 $$"})); exit.Reason != berth.ExitSignalled {
		t.Errorf("a kill by hand: %+v", exit)
	}
	b.script("touch go")
	if _, exit := b.wait(other); exit.Code != 5 || exit.Reason != berth.ExitExited {
		t.Errorf("another command: %+v", exit)
	}
}

func TestManySmallProcessesOverTheMemoryLimitLeaveTheGuestAlive(t *testing.T) {
	t.Parallel()
	b := limited(t, "96MiB")
	pid := guestPID(t, engine(t), b.ref.ID)
	// Each is far smaller than the guest, and what the first command leaves keeps the
	// memory full: to start another is then the moment of most danger.
	id := b.start(berth.CommandSpec{Script: `for i in {1..300}; do ( x=$(head -c 1000000 /dev/zero | tr '\0' x); sleep 15 ) & done; wait; echo over`})
	for range 30 {
		text, exit := b.wait(b.startPatiently(berth.CommandSpec{Script: "x=$(head -c 3000000 /dev/zero | tr '\\0' x); echo ${#x}"}))
		if exit.Reason != berth.ExitOutOfMemory && !exit.Succeeded() && !strings.Contains(text, "fork") {
			t.Errorf("a command beside them: %q, %+v", text, exit)
		}
	}
	b.wait(id)
	if kills := oomKills(t, pid); kills == 0 {
		t.Error("the limit was not reached: the test shows nothing")
	}
	if now := guestPID(t, engine(t), b.ref.ID); now != pid {
		t.Errorf("process 1 was %d and is %d", pid, now)
	}
	eventually(t, "there is memory again", func() bool {
		text, _ := b.wait(b.start(berth.CommandSpec{Script: "echo alive; cat /proc/1/oom_score_adj"}))
		return text == "alive\n0\n"
	})
}

// startPatiently is start for a sandbox so short of memory that the guest may be
// late: asked again, it begins no command twice.
func (b *box) startPatiently(spec berth.CommandSpec) berth.CommandID {
	b.t.Helper()
	spec.ID = berth.CommandID(fmt.Sprint("c", lastCommand.Add(1)))
	for tries := 0; ; tries++ {
		err := b.StartCommand(bounded(b.t), b.ref, spec)
		if err == nil {
			return spec.ID
		}
		if code := berth.CodeOf(err); code != berth.CodeTimedOut && code != berth.CodeUnavailable || tries == 3 {
			b.t.Fatalf("StartCommand: %v", err)
		}
	}
}

// oomKills counts what the kernel has killed in the control group of a process.
func oomKills(t *testing.T, pid int) int {
	t.Helper()
	for line := range strings.Lines(readFile(t, "/proc/"+strconv.Itoa(pid)+"/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		file := ""
		switch {
		case len(parts) == 3 && parts[1] == "memory":
			file = "/sys/fs/cgroup/memory" + parts[2] + "/memory.oom_control"
		case len(parts) == 3 && parts[1] == "":
			file = "/sys/fs/cgroup" + parts[2] + "/memory.events"
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if _, count, found := strings.Cut(string(text), "oom_kill "); found {
			n, err := strconv.Atoi(strings.Fields(count)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the memory's control group is not found")
	return 0
}

func TestCommandsAreKilledBeforeTheGuest(t *testing.T) {
	t.Parallel()
	b := sandbox(t, config(t), specOf(dockertest.User))
	for range 3 {
		score, err := strconv.Atoi(strings.TrimSpace(b.script("cat /proc/self/oom_score_adj")))
		if err != nil || score < 500 {
			t.Errorf("a command's score is %d, %v", score, err)
		}
	}
	if got := b.script("cat /proc/1/oom_score_adj"); got != "0\n" {
		t.Errorf("the guest's score is %s", got)
	}
}

func TestLimitsAreTheEnvironments(t *testing.T) {
	t.Parallel()
	spec := specOf(dockertest.Static)
	memory, cpu := berth.Size("100MB"), 2
	spec.Environment.Resources = berth.Resources{Memory: &memory, CPU: &cpu}
	b := sandbox(t, config(t), spec)
	found, err := engine(t).ContainerInspect(bounded(t), containerOf(b.ref), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	host := found.Container.HostConfig
	if host.Memory != 100_000_000 || host.MemorySwap != 100_000_000 || host.CPUQuota != 200_000 || host.CPUPeriod != 100_000 {
		t.Errorf("memory %d, with swap %d, quota %d of %d", host.Memory, host.MemorySwap, host.CPUQuota, host.CPUPeriod)
	}
	if host.PidsLimit == nil || *host.PidsLimit <= 0 || host.Privileged || len(host.CapAdd) > 0 || host.NetworkMode != "none" {
		t.Errorf("host config %+v", host)
	}
}

func TestAContainerThatIsKilledAtItsLimitEndsItsCommandsOutOfMemory(t *testing.T) {
	t.Parallel()
	spec := specOf(dockertest.Debian)
	limit := berth.Size("64MiB")
	spec.Environment.Resources.Memory = &limit
	config := config(t)
	b := sandbox(t, config, spec)
	other := b.start(berth.CommandSpec{Script: "echo up; sleep 600"})
	b.untilOutput(other)
	// Root can make the guest the first to go, and harms its own run.
	id := b.start(berth.CommandSpec{Script: "echo 1000 > /proc/1/oom_score_adj; echo 0 > /proc/self/oom_score_adj; echo up; for i in 1 2 3 4; do tail /dev/zero & done; wait"})
	for _, when := range []string{"at once", "to the next server"} {
		for _, command := range []berth.CommandID{other, id} {
			if text, exit := b.wait(command); text != "up\n" || exit.Reason != berth.ExitOutOfMemory || !strings.Contains(exit.Message, "64 MiB") {
				t.Errorf("%s: %q, %+v", when, text, exit)
			}
		}
		state, err := b.Describe(bounded(t), b.ref)
		if err != nil || state.Status != berth.SandboxFailed || state.Reason.Code != berth.ReasonOutOfMemory {
			t.Errorf("%s: Describe = %+v, %v", when, state, err)
		}
		b.reopen(config)
	}
}
