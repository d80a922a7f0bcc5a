package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/berth-dev/berth/shared/terminal"
)

// promptHidden asks for a line on the terminal that standard input is, without
// showing it. Ctrl-C ends the program, with the terminal as it was.
func (a *app) promptHidden(what string) ([]byte, error) {
	signals, stop := a.signals()
	defer stop()
	line, err := terminal.ReadHidden(a.stdin.(*os.File), signals, func() {
		fmt.Fprintf(a.stderr, "%s (not shown): ", terminal.Clean(what))
	})
	fmt.Fprintln(a.stderr)
	if errors.Is(err, terminal.ErrInterrupted) {
		return nil, exitStatus(statusCancelled)
	}
	return line, local(err, "reading what is typed")
}
