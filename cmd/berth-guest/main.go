//go:build linux

// Berth-guest is the process inside a sandbox that starts commands and serves
// files for its agent. Where no agent is beside it, the same program is that
// agent, as `daemon`, and what connects a stream to it, as `relay`; as `contain`
// it is guest and agent in one, as process 1 of a container, which `join` connects
// a stream to. It is started by berth, never by hand.
package main

import (
	"fmt"
	"os"

	"github.com/berth-dev/berth/shared/guest"
	"github.com/berth-dev/berth/shared/relay/daemon"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "berth-guest:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	mode := ""
	if len(args) > 0 {
		mode = args[0]
	}
	switch mode {
	case "relay":
		return daemon.Relay(relayConfig(args[1:]))
	case "daemon":
		return daemon.Run(relayConfig(args[1:]).Config)
	case "contain":
		return daemon.Contain(containConfig(args[1:]))
	case "join":
		return daemon.Join(joinRoot(args[1:]), os.Stdin, os.Stdout)
	case "works": // says that the program runs here
		_, err := fmt.Println("berth-guest works")
		return err
	}
	return guest.Run(guestConfig(args))
}
