// Command berth runs commands in named, sandboxed environments. It is the
// client of a berth server, and the server itself.
package main

import (
	"context"
	"io"
	"os"

	"github.com/berth-dev/berth/shared/berth"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// run is the whole program but for the process around it: it returns the exit
// status. env is in the form of os.Environ.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	dir, err := os.Getwd()
	a := &app{
		stdin: stdin, stdout: stdout, stderr: stderr, env: environMap(env), dir: dir,
		clock: berth.SystemClock{}, signals: processSignals,
	}
	if err != nil {
		return a.finish(nil, local(err, "finding the current folder"))
	}
	return a.execute(ctx, args)
}

// execute runs one command line and returns its exit status.
func (a *app) execute(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return a.finish(cmd, err)
}
