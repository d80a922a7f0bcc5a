//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "berth-agent runs on Linux")
	os.Exit(2)
}
