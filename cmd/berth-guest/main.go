//go:build linux

// Berth-guest is the process inside a sandbox that starts commands and serves
// files for its agent. It is started by berth, never by hand.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/berth-dev/berth/shared/guest"
)

func main() {
	config := guest.Config{Environ: os.Environ()}
	flag.StringVar(&config.Dir, "dir", "", "folder of the agent's socket")
	flag.StringVar(&config.SandboxStart, "sandbox-start", "", "name of this start of the sandbox")
	flag.Uint64Var((*uint64)(&config.Tag), "tag", 0, "tag of the sandbox's processes")
	flag.StringVar(&config.Workspace, "workspace", "", "directory that commands start in")
	flag.StringVar(&config.Bash, "bash", "/bin/bash", "shell of all commands")
	flag.BoolVar(&config.Init, "init", false, "be process 1 of a container")
	flag.StringVar(&config.User, "user", "", "with -init: `user` of the image")
	flag.BoolVar(&config.KeepHome, "keep-home", false, "with -init: leave HOME as it is")
	flag.BoolVar(&config.KeepOwner, "keep-owner", false, "with -init: leave the workspace's owner as it is")
	flag.Parse()
	if config.Dir == "" || config.SandboxStart == "" && !config.Init || config.Workspace == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "berth-guest is started by berth, inside a sandbox")
		os.Exit(2)
	}
	if err := guest.Run(config); err != nil {
		fmt.Fprintln(os.Stderr, "berth-guest:", err)
		os.Exit(1)
	}
}
