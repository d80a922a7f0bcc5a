//go:build linux

package main

import (
	"fmt"
	"os"
	"time"

	"github.com/berth-dev/berth/shared/guest"
	"github.com/berth-dev/berth/shared/relay/daemon"
)

// fail ends the program: nobody starts it by hand.
func fail(what any) {
	fmt.Fprintln(os.Stderr, "berth-guest is started by berth, inside a sandbox:", what)
	os.Exit(2)
}

// mustRead reads args, and asks for a value of each of need.
func (o options) mustRead(args []string, need ...string) {
	if err := o.read(args); err != nil {
		fail(err)
	}
	for _, name := range need {
		if *o[name].(*string) == "" {
			fail("it needs -" + name)
		}
	}
}

func guestConfig(args []string) guest.Config {
	config := guest.Config{Environ: os.Environ(), Bash: defaultBash}
	var life time.Duration
	options{
		"dir":           &config.Dir, // folder of the agent's socket
		"sandbox-start": &config.SandboxStart,
		"tag":           &config.Tag,
		"workspace":     &config.Workspace, // directory that commands start in
		"bash":          &config.Bash,
		"init":          &config.Init, // be process 1 of a container; for it are those below
		"user":          &config.User,
		"keep-home":     &config.KeepHome,
		"keep-owner":    &config.KeepOwner,
		"life":          &life, // end after that, whatever its agent says or does not say
	}.mustRead(args, "dir", "workspace")
	if life > 0 {
		time.AfterFunc(life, func() { os.Exit(0) })
	}
	if config.SandboxStart == "" && !config.Init {
		fail("it needs -sandbox-start or -init")
	}
	return config
}

func containConfig(args []string) daemon.ContainConfig {
	config := daemon.ContainConfig{Guest: guest.Config{Environ: os.Environ(), Bash: defaultBash}, In: os.Stdin, Out: os.Stdout}
	options{
		"root":       &config.Root, // folder of the sandbox
		"workspace":  &config.Guest.Workspace,
		"bash":       &config.Guest.Bash,
		"user":       &config.Guest.User,
		"keep-home":  &config.Guest.KeepHome,
		"keep-owner": &config.Guest.KeepOwner,
	}.mustRead(args, "root", "workspace")
	return config
}

func joinRoot(args []string) (root string) {
	options{"root": &root}.mustRead(args, "root")
	return root
}

func relayConfig(args []string) daemon.RelayConfig {
	config := daemon.RelayConfig{In: os.Stdin, Out: os.Stdout}
	config.Environ, config.Program = os.Environ(), ownPath()
	options{
		"root":         &config.Root,
		"sandbox":      (*string)(&config.Sandbox),
		"installation": (*string)(&config.Installation),
		"unfiltered":   &config.Unfiltered, // let commands inherit the whole environment
		"create":       &config.Create,     // make the folder when it is not there
		"base64":       &config.Base64,     // each line is base64
	}.mustRead(args, "root", "sandbox", "installation")
	return config
}

const defaultBash = "/bin/bash"

// ownPath is where this program lies.
func ownPath() string {
	path, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return path
}
