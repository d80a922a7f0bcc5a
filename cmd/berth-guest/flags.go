//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/berth-dev/berth/shared/guest"
	"github.com/berth-dev/berth/shared/relay/daemon"
)

// usage ends the program: nobody starts it by hand.
func usage() {
	fmt.Fprintln(os.Stderr, "berth-guest is started by berth, inside a sandbox")
	os.Exit(2)
}

func guestConfig(args []string) guest.Config {
	config := guest.Config{Environ: os.Environ()}
	flags := flag.NewFlagSet("berth-guest", flag.ExitOnError)
	flags.StringVar(&config.Dir, "dir", "", "folder of the agent's socket")
	flags.StringVar(&config.SandboxStart, "sandbox-start", "", "name of this start of the sandbox")
	flags.Uint64Var((*uint64)(&config.Tag), "tag", 0, "tag of the sandbox's processes")
	flags.StringVar(&config.Workspace, "workspace", "", "directory that commands start in")
	flags.StringVar(&config.Bash, "bash", "/bin/bash", "shell of all commands")
	flags.BoolVar(&config.Init, "init", false, "be process 1 of a container")
	flags.StringVar(&config.User, "user", "", "with -init: `user` of the image")
	flags.BoolVar(&config.KeepHome, "keep-home", false, "with -init: leave HOME as it is")
	flags.BoolVar(&config.KeepOwner, "keep-owner", false, "with -init: leave the workspace's owner as it is")
	_ = flags.Parse(args) // it ends the program when it fails
	if config.Dir == "" || config.SandboxStart == "" && !config.Init || config.Workspace == "" || flags.NArg() > 0 {
		usage()
	}
	return config
}

func containConfig(args []string) daemon.ContainConfig {
	config := daemon.ContainConfig{Guest: guest.Config{Environ: os.Environ()}, In: os.Stdin, Out: os.Stdout}
	flags := flag.NewFlagSet("berth-guest", flag.ExitOnError)
	flags.StringVar(&config.Root, "root", "", "folder of the sandbox")
	flags.StringVar(&config.Guest.Workspace, "workspace", "", "directory that commands start in")
	flags.StringVar(&config.Guest.Bash, "bash", "/bin/bash", "shell of all commands")
	flags.StringVar(&config.Guest.User, "user", "", "`user` of the image")
	flags.BoolVar(&config.Guest.KeepHome, "keep-home", false, "leave HOME as it is")
	flags.BoolVar(&config.Guest.KeepOwner, "keep-owner", false, "leave the workspace's owner as it is")
	_ = flags.Parse(args)
	if config.Root == "" || config.Guest.Workspace == "" || flags.NArg() > 0 {
		usage()
	}
	return config
}

func joinRoot(args []string) (root string) {
	flags := flag.NewFlagSet("berth-guest", flag.ExitOnError)
	flags.StringVar(&root, "root", "", "folder of the sandbox")
	_ = flags.Parse(args)
	if root == "" || flags.NArg() > 0 {
		usage()
	}
	return root
}

func relayConfig(args []string) daemon.RelayConfig {
	config := daemon.RelayConfig{In: os.Stdin, Out: os.Stdout}
	config.Environ, config.Program = os.Environ(), ownPath()
	flags := flag.NewFlagSet("berth-guest", flag.ExitOnError)
	flags.StringVar(&config.Root, "root", "", "folder of the sandbox")
	flags.StringVar((*string)(&config.Sandbox), "sandbox", "", "id of the sandbox")
	flags.StringVar((*string)(&config.Installation), "installation", "", "id of the installation")
	flags.BoolVar(&config.Unfiltered, "unfiltered", false, "let commands inherit the whole environment")
	flags.BoolVar(&config.Create, "create", false, "relay: make the folder when it is not there")
	flags.BoolVar(&config.Base64, "base64", false, "relay: each line is base64")
	_ = flags.Parse(args)
	if config.Root == "" || config.Sandbox == "" || config.Installation == "" || flags.NArg() > 0 {
		usage()
	}
	return config
}

// ownPath is where this program lies.
func ownPath() string {
	path, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return path
}
