package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

// Exit statuses that are not in the table of codes.
const (
	statusFailure   = 1   // a report says no: doctor
	statusOwn       = 125 // run and exec: berth itself failed, or the run was lost
	statusTimedOut  = 124
	statusMemory    = 137
	statusCancelled = 130
)

// exitStatus ends the program with a status; what there was to say has been said.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// passThrough marks commands that end with the status of the command that they
// run; their own failures must not look like one.
const passThrough = "passes-status-through"

// finish reports err and returns the exit status.
func (a *app) finish(cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	err = ofOutput(err)
	report(a.stderr, err, a.remedy(err))
	if cmd != nil && cmd.Annotations[passThrough] != "" {
		return statusOwn
	}
	return berth.CodeOf(err).Info().CLI
}

// ofOutput gives the failure of a write to standard output, which nothing else has
// coded, the code of this machine's matters.
func ofOutput(err error) error {
	var coded *berth.Error
	var path *fs.PathError
	if !errors.As(err, &coded) && errors.As(err, &path) && path.Op == "write" {
		return local(err, "writing the output")
	}
	return err
}

// remedy is what this machine knows to do about an error that says nothing
// itself: a provider is off, or the server that the user chose does not answer or
// does not know the key.
func (a *app) remedy(err error) string {
	if kind, why, off := offIn(err); off {
		if on := a.turnOn(kind, why); on != "" {
			return on + "; or " + otherEnvironment
		}
	}
	var answered *client.Failure
	e, _ := a.endpoint()
	byServer := errors.As(err, &answered)
	switch code := berth.CodeOf(err); {
	case e.server == "":
		return ""
	case code == berth.CodeUnavailable && !byServer:
		return "see whether " + e.server + " is the right server (`berth context show` tells what chose it) and runs"
	case code == berth.CodeUnauthenticated && byServer && e.context != nil:
		return "`berth login " + e.server + "` replaces the key of context " + e.context.Name
	case code == berth.CodeUnauthenticated && byServer:
		return "set BERTH_TOKEN to a key of " + e.server + ", or `berth login " + e.server + "`"
	}
	return ""
}

// report writes an error for people: what is wrong with its code and place, the
// problems one a line, and what to do; remedy is for one that does not say it.
func report(w io.Writer, err error, remedy string) {
	var e *berth.Error
	if !errors.As(err, &e) {
		fmt.Fprintf(w, "berth: %s: %s\n", berth.CodeInternal, terminal.Clean(err.Error()))
		return
	}
	fmt.Fprintf(w, "berth: %s: %s\n", e.Code, terminal.Clean(headline(err, e)))
	for _, p := range e.Problems {
		if len(e.Problems) == 1 && p.Message == e.Message {
			break
		}
		fmt.Fprintln(w, "  "+problemLine(p))
	}
	if remedy := cmp.Or(e.Remediation, remedy, generalRemedy(e, client.RequestID(err))); remedy != "" {
		fmt.Fprintln(w, "  to do: "+indentLines(remedy))
	}
}

// headline is the error's text without its list of problems.
func headline(err error, e *berth.Error) string {
	short := *e
	short.Field, short.Problems = faultPlace(e.Field), nil
	return strings.Replace(err.Error(), e.Error(), short.Error(), 1)
}

func problemLine(p berth.Problem) string {
	if location := faultPlace(p.Location); location != "" {
		return terminal.Clean(location + ": " + p.Message)
	}
	return terminal.Clean(p.Message)
}

// indentLines puts the further lines of a text below its first.
func indentLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = terminal.Clean(lines[i])
	}
	return strings.Join(lines, "\n    ")
}

// usagef is a wrong use of a command.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	e := berth.Errorf(berth.CodeInvalid, format, args...)
	e.Remediation = fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	return e
}

// local gives an error of this machine, such as a file that is missing, a code.
func local(err error, doing string) error {
	if err == nil {
		return nil
	}
	code := berth.CodeUnavailable
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = berth.CodeNotFound
	case errors.Is(err, fs.ErrPermission):
		code = berth.CodeForbidden
	case errors.Is(err, fs.ErrExist):
		code = berth.CodeConflict
	}
	return &berth.Error{Code: code, Message: doing, Cause: err, Remediation: localRemedies[code]}
}

var localRemedies = map[berth.Code]string{
	berth.CodeNotFound:    "check the path",
	berth.CodeForbidden:   "check the permissions on this machine",
	berth.CodeConflict:    "remove it, or choose another name",
	berth.CodeUnavailable: "look at this machine's disk and streams",
}
