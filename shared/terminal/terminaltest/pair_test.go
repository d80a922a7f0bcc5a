//go:build linux

package terminaltest_test

import (
	"bufio"
	"testing"

	"golang.org/x/term"

	"github.com/berth-dev/berth/shared/terminal/terminaltest"
)

func TestBothEndsReachEachOther(t *testing.T) {
	t.Parallel()
	user, program := terminaltest.Open(t)
	if !term.IsTerminal(int(program.Fd())) {
		t.Error("the program's end is no terminal")
	}
	if _, err := user.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(program).ReadString('\n'); err != nil || line != "typed\n" {
		t.Errorf("the program reads %q, %v; want what was typed", line, err)
	}
	if line, err := bufio.NewReader(user).ReadString('\n'); err != nil || line != "typed\r\n" {
		t.Errorf("the person sees %q, %v; want the echo", line, err)
	}
}
