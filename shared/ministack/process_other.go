//go:build !unix

package ministack

import "os/exec"

func isolate(*exec.Cmd) error { return errUnsupported }

func signalGroup(*exec.Cmd, bool) {}
