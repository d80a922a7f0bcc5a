//go:build linux

package terminal

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/shared/terminal/terminaltest"
)

// echoes reports whether the terminal shows what is typed.
func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

type typed struct {
	line string
	err  error
}

// prompt starts a hidden prompt and waits until it asks.
func prompt(t *testing.T, f *os.File, signals <-chan os.Signal) <-chan typed {
	t.Helper()
	answer, asked := make(chan typed, 1), make(chan struct{})
	go func() {
		line, err := ReadHidden(f, signals, func() { close(asked) })
		answer <- typed{string(line), err}
	}()
	select {
	case <-asked:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing is asked for after 10 s")
	}
	if echoes(t, f) {
		t.Fatal("the terminal asks, and shows what is typed")
	}
	return answer
}

func TestAHiddenLineIsReadAndTheTerminalShowsAgain(t *testing.T) {
	t.Parallel()
	user, program := terminaltest.Open(t)
	answer := prompt(t, program, nil)
	if _, err := user.WriteString("s3cret value\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got.line != "s3cret value" || got.err != nil {
		t.Errorf("ReadHidden = %q, %v; want the line", got.line, got.err)
	}
	if !echoes(t, program) {
		t.Error("the terminal does not show what is typed afterwards")
	}
}

func TestASignalEndsAHiddenPromptAndTheTerminalShowsAgain(t *testing.T) {
	t.Parallel()
	_, program := terminaltest.Open(t)
	signals := make(chan os.Signal, 1)
	answer := prompt(t, program, signals)
	signals <- os.Interrupt
	if got := <-answer; !errors.Is(got.err, ErrInterrupted) {
		t.Errorf("ReadHidden = %v, want ErrInterrupted", got.err)
	}
	if !echoes(t, program) {
		t.Error("the terminal does not show what is typed afterwards")
	}
}

func TestATerminalOfAnotherJobIsInTheBackground(t *testing.T) {
	t.Parallel()
	_, program := terminaltest.Open(t)
	if !InBackground(program) {
		t.Error("a terminal that controls other processes counts as this one's own")
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if InBackground(file) || InBackground(42) {
		t.Error("what is no terminal is in the background")
	}
}
