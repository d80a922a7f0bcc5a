package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/embedded"
	"github.com/berth-dev/berth/shared/guestbin"
	"github.com/berth-dev/berth/shared/terminal"
)

const (
	lowSpace  = 1 << 30   // bytes: output and transfers may fill it
	noSpace   = 100 << 20 // bytes
	longPath  = 150       // characters
	toolLimit = 10 * time.Second
)

func (a *app) checkDataFolder(context.Context) []finding {
	const name = "data folder"
	dir, err := a.dataFolder()
	if err != nil {
		return said(name, fail, err.Error(), "set BERTH_DATA_DIR to a folder of yours")
	}
	if err := probeWritable(dir); err != nil {
		return said(name, fail, dir+" cannot be written: "+err.Error(), "make it writable, or choose another with BERTH_DATA_DIR")
	}
	findings := said(name, pass, dir+" is writable", "")
	if len(dir) > longPath {
		findings = append(findings, finding{name, warn, fmt.Sprintf("its path has %d characters, and some systems limit paths", len(dir)), "choose a shorter one with BERTH_DATA_DIR"})
	}
	free, err := embedded.FreeBytes(dir)
	switch {
	case err != nil:
		return append(findings, finding{"disk", warn, "the free space is not known: " + err.Error(), ""})
	case free < noSpace:
		return append(findings, finding{"disk", fail, terminal.Bytes(free) + " free", "free some space; runs fail when the disk is full"})
	case free < lowSpace:
		return append(findings, finding{"disk", warn, terminal.Bytes(free) + " free", "free some space"})
	}
	return append(findings, finding{"disk", pass, terminal.Bytes(free) + " free", ""})
}

// probeWritable makes the folder if need be, and a file in it for a moment.
func probeWritable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString("probe")
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

func (a *app) checkBash(ctx context.Context) []finding {
	const name = "bash"
	if runtime.GOOS == "windows" {
		return said(name, warn, "the local provider does not work on Windows", "use another provider, or a server on Linux")
	}
	out, err := tool(ctx, "/bin/bash", "-c", "echo $BASH_VERSION")
	if err != nil {
		return said(name, fail, "/bin/bash does not run: "+err.Error(), "install bash; every command starts through it")
	}
	return said(name, pass, "/bin/bash "+out, "")
}

func (a *app) checkGuest(context.Context) []finding {
	b, err := guestbin.Binary(runtime.GOARCH)
	if err != nil {
		return said("guest", fail, err.Error(), "build berth with `make build`")
	}
	return said("guest", pass, fmt.Sprintf("linux/%s, %s, is embedded", runtime.GOARCH, terminal.Bytes(int64(len(b)))), "")
}

func (a *app) checkGit(ctx context.Context) []finding {
	out, err := tool(ctx, "git", "--version")
	if err != nil {
		return said("git", warn, "git does not run: "+err.Error(), "install git, so that runs can take the code from this repository's origin")
	}
	return said("git", pass, out, "")
}

// tool runs a program for a short while and returns the first line of its output.
func tool(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Dir(os.TempDir())
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(firstLine(string(exit.Stderr)))
	}
	return firstLine(string(out)), err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return terminal.Cut(terminal.Clean(line), 200)
}
