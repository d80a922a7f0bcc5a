package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal"
)

// app is what all commands share: the streams, the environment and the global flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            map[string]string
	dir            string // the current folder
	clock          berth.Clock
	// signals begins to deliver what ends a program instead of dying of them, until stop.
	signals func() (in <-chan os.Signal, stop func())

	server  string // --server
	context string // --context
	dataDir string // --data-dir
	quiet   bool   // --quiet
}

func environMap(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, entry := range env {
		if name, value, ok := strings.Cut(entry, "="); ok {
			m[name] = value
		}
	}
	return m
}

// processSignals leaves those alone that the program was started to ignore, as by
// nohup or behind & in a script.
func processSignals() (<-chan os.Signal, func()) {
	in := make(chan os.Signal, 8)
	for _, s := range endSignals {
		if !signal.Ignored(s) {
			signal.Notify(in, s)
		}
	}
	return in, func() { signal.Stop(in) }
}

// note writes a line for people to standard error, unless they asked for quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.say(format, args...)
	}
}

// say is note also when quiet, for what must not be missed. Whatever it is made of,
// such as the name of a folder, it does nothing to the terminal.
func (a *app) say(format string, args ...any) {
	lines := strings.Split(fmt.Sprintf(format, args...), "\n")
	for i := range lines {
		lines[i] = terminal.Clean(lines[i])
	}
	fmt.Fprintf(a.stderr, "berth: %s\n", strings.Join(lines, "\n"))
}

// printf writes to standard output.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return err
}

// printJSON writes one object, indented.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// view makes the view of a command that follows something.
func (a *app) view() *terminal.View {
	return terminal.New(terminal.Options{
		Chatter: a.stderr, Now: a.clock.Now, Quiet: a.quiet,
		Live: terminal.CanRedraw(a.stderr, a.env["TERM"]),
	})
}

// sameAsStderr reports whether w and standard error end in the same place.
func (a *app) sameAsStderr(w io.Writer) bool {
	if w == a.stderr {
		return true
	}
	f, ok1 := w.(*os.File)
	g, ok2 := a.stderr.(*os.File)
	if !ok1 || !ok2 {
		return false
	}
	fi, err1 := f.Stat()
	gi, err2 := g.Stat()
	return err1 == nil && err2 == nil && os.SameFile(fi, gi)
}

// ago writes how long before now t was.
func (a *app) ago(t time.Time) string { return terminal.Span(a.clock.Now().Sub(t)) + " ago" }
