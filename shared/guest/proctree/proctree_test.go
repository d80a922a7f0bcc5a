//go:build linux

package proctree

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell starts a script and waits for its first line.
func shell(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("bash", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestProcessesAreFoundByTheirTagWhereverTheyWent(t *testing.T) {
	base := NewTag()
	since, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	var was [2]uint64
	if err := prlimit(nil, &was); err != nil {
		t.Fatal(err)
	}
	if err := SetTag(base + 3); err != nil {
		t.Fatal(err)
	}
	shell(t, "( setsid sleep 600 > /dev/null & ); (setsid setsid sleep 600 > /dev/null &); sleep 0.2; echo up; exec sleep 600")
	if err := prlimit(&was, nil); err != nil {
		t.Fatal(err)
	}
	find := func(all []Process) []Process { return Tagged(all, base, since) }
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(find(all)); n != 3 {
		t.Errorf("%d processes are found, want 3", n)
	}
	if n := len(Tagged(all, base+TagRange, since)); n != 0 {
		t.Errorf("%d processes have another's tag", n)
	}
	if !End(t.Context(), Ending{Find: find, Limit: 20 * time.Second}) {
		t.Error("some are left")
	}
}

func TestEndRepeatsUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	// It forks on as long as it lives, and is deaf to TERM.
	cmd := shell(t, `trap '' TERM; echo up; while :; do (trap '' TERM; sleep 600 & sleep 600) & sleep 0.01; done`)
	began := time.Now()
	if !End(t.Context(), Ending{Find: func(all []Process) []Process {
		return append(Below(all, cmd.Process.Pid), self(all, cmd.Process.Pid)...)
	}, Grace: 300 * time.Millisecond, Limit: 20 * time.Second}) {
		t.Error("some are left")
	}
	if d := time.Since(began); d < 300*time.Millisecond {
		t.Errorf("KILL came after %v", d)
	}
}

// Some looks miss one that is there, as while it becomes another program.
func TestEndLooksAgainAsOftenAsItIsTold(t *testing.T) {
	t.Parallel()
	cmd := shell(t, "echo up; exec sleep 600")
	looks := 0
	if !End(t.Context(), Ending{Again: 2, Limit: 20 * time.Second, Find: func(all []Process) []Process {
		if looks++; looks < 3 {
			return nil
		}
		return self(all, cmd.Process.Pid)
	}}) {
		t.Error("some are left")
	}
	if _, alive := Read(cmd.Process.Pid); alive || looks < 6 {
		t.Errorf("alive %v after %d looks", alive, looks)
	}
}

func self(all []Process, pid int) []Process {
	for _, p := range all {
		if p.PID == pid {
			return []Process{p}
		}
	}
	return nil
}

func TestANumberThatIsUsedAgainIsAnotherProcess(t *testing.T) {
	t.Parallel()
	cmd := shell(t, "echo up; exec sleep 600")
	p, ok := Read(cmd.Process.Pid)
	if !ok || !p.Alive() {
		t.Fatalf("Read = %+v, %v", p, ok)
	}
	older := p
	older.StartTime--
	if older.Alive() || older.Signal(syscall.SIGKILL) {
		t.Error("the number alone was taken for the process")
	}
	if !p.Signal(syscall.SIGKILL) {
		t.Error("the process was not found")
	}
	_ = cmd.Wait()
	if p.Alive() || p.Signal(syscall.SIGKILL) {
		t.Error("it is still there")
	}
}

func TestTheNameOfAProgramDoesNotConfuse(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	odd := t.TempDir() + "/a) Z 1 (b"
	if err := os.WriteFile(odd, b, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := shell(t, "echo up; exec "+"'"+strings.ReplaceAll(odd, "'", `'\''`)+"' 600")
	for range 200 {
		name, _ := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/comm")
		if strings.HasPrefix(string(name), "a) Z") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if p, ok := Read(cmd.Process.Pid); !ok || p.Parent != os.Getpid() {
		t.Errorf("Read = %+v, %v", p, ok)
	}
}
