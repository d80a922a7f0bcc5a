package emulator

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Process is a process of an emulator, known again by when it started: its
// number alone may be another's by now.
type Process struct {
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

// Processes are those of the emulator, in the order of their start.
func (e *Emulator) Processes() ([]Process, error) {
	var all []Process
	for _, p := range e.programs {
		process, err := Identify(p.process.cmd.Process.Pid)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		all = append(all, process)
	}
	return all, nil
}

// Identify gives the process that has a number now.
func Identify(pid int) (Process, error) {
	started, err := startOf(pid)
	if err != nil {
		return Process{}, fmt.Errorf("looking at process %d: %w", pid, err)
	}
	return Process{PID: pid, Started: started}, nil
}

// Runs reports whether the process still runs.
func (p Process) Runs() bool {
	started, err := startOf(p.PID)
	return err == nil && started == p.Started
}

// End ends processes with all that they started, the last first, and waits. One
// that has ended already is fine, and one that only has its number is let be.
func End(processes []Process) error {
	var errs []error
	for i := len(processes) - 1; i >= 0; i-- {
		p := processes[i]
		for _, kill := range []bool{false, true} {
			if !p.Runs() {
				break
			}
			signalGroup(p.PID, kill)
			for deadline := time.Now().Add(stopWait); p.Runs() && time.Now().Before(deadline); {
				time.Sleep(readyPoll)
			}
		}
		if p.Runs() {
			errs = append(errs, fmt.Errorf("process %d does not end", p.PID))
		}
	}
	return errors.Join(errs...)
}

// startOf is when a process started, in the system's own words. It fails for one
// that has ended, also if nobody has collected it.
func startOf(pid int) (string, error) {
	if runtime.GOOS == "linux" {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return "", err
		}
		// The name before may hold anything; the state is the first field after it,
		// the start, in ticks since the machine's, the 20th.
		_, after, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
		fields := strings.Fields(string(after))
		if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
			return "", os.ErrProcessDone
		}
		return fields[19], nil
	}
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	state, started, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !found || strings.HasPrefix(state, "Z") {
		return "", errors.Join(os.ErrProcessDone, err)
	}
	return strings.TrimSpace(started), nil
}
