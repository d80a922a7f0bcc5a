//go:build !unix

package ministack

import (
	"errors"
	"os/exec"
)

func isolate(*exec.Cmd) error { return errors.New("the emulator runs on Unix only") }

func signalGroup(*exec.Cmd, bool) {}
