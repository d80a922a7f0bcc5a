//go:build !unix

package emulator

import (
	"errors"
	"os/exec"
)

func isolate(*exec.Cmd, bool) error { return errors.New("the emulators run on Unix only") }

func signalGroup(int, bool) {}
