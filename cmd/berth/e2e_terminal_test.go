//go:build linux

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berth-dev/berth/shared/terminal/terminaltest"
)

// session is the program on a terminal of its own, as a person has it.
type session struct {
	t     *testing.T
	user  *os.File
	shown string
	ended chan error
	state func() int
	kill  func() error
}

func (m *machine) session(args ...string) *session {
	m.t.Helper()
	user, program := terminaltest.Open(m.t)
	cmd, _, _ := m.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	s := &session{t: m.t, user: user, ended: make(chan error, 1), state: func() int { return cmd.ProcessState.ExitCode() }, kill: cmd.Process.Kill}
	go func() { s.ended <- cmd.Wait() }()
	return s
}

// sees waits until the terminal has shown a text.
func (s *session) sees(text string) {
	s.t.Helper()
	buf := make([]byte, 4<<10)
	for end := time.Now().Add(endWait); !strings.Contains(s.shown, text); {
		if err := s.user.SetReadDeadline(end); err != nil {
			s.t.Fatal(err)
		}
		n, err := s.user.Read(buf)
		s.shown += string(buf[:n])
		if err != nil {
			s.t.Fatalf("the terminal does not show %q: %v; it shows:\n%s", text, err, s.shown)
		}
	}
}

func (s *session) types(text string) {
	s.t.Helper()
	if _, err := s.user.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) endsWith(status int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(endWait):
		s.t.Fatalf("the program has not ended after %s; the terminal shows:\n%s", endWait, s.shown)
	}
	if got := s.state(); got != status {
		s.t.Errorf("status %d, want %d; the terminal shows:\n%s", got, status, s.shown)
	}
}

func TestAPersonGetsBackIntoASandbox(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.live()
	s := m.session("exec", id, "--", "bash", "-i")
	s.types("echo sum=$((40+2))\n")
	s.sees("sum=42")
	s.types("exit 3\n")
	s.endsWith(3)
}

func TestCtrlCAtTheSecretsPromptSetsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	s := m.session("secret", "set", "TOKEN")
	s.sees("value of TOKEN (not shown): ")
	s.types("hunter2222\x03")
	s.endsWith(130)
	s = m.session("secret", "set", "OTHER")
	s.sees("value of OTHER (not shown): ")
	s.types("hunter2222\n")
	s.sees("set secret OTHER (token)")
	s.endsWith(0)
	if strings.Contains(s.shown, "hunter2222") {
		t.Errorf("the terminal shows the value:\n%s", s.shown)
	}
	list := m.ok("secret", "list").stdout
	mustContain(t, "list", list, "OTHER")
	mustNotContain(t, "list", list, "TOKEN")
}
