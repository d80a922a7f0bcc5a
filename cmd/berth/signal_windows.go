package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

func keepBrokenPipes() (stop func()) { return func() {} }

// endSignals are what ends a program from outside.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
