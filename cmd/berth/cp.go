package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/terminal"
)

func cpCommand(a *app) *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use: "cp [-r] SOURCE DESTINATION", Short: "Copy files into and out of a sandbox",
		Long: `Copy a file, or with -r a folder, between this machine and a sandbox. The side in
the sandbox is written SANDBOX:PATH, with the id of a sandbox or run; PATH is
relative to the workspace. - is standard input or output, for a file. A sandbox
that is being made is waited for.

Into a folder that exists the source is copied under its own name. Permissions
are kept. Links that lead out of the folder, and things that are neither files
nor folders, are named and left out, and the status is then 1.`,
		Example: `  berth cp report.html 01k5m3v9x2qf:out/report.html
  berth cp 01k5m3v9x2qf:result.json .
  berth cp -r 01k5m3v9x2qf:dist ./dist
  berth cp 01k5m3v9x2qf:build.log - | less`,
		Args: exactArgs("the source", "the destination"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to := parsePlace(args[0]), parsePlace(args[1])
			switch {
			case from.sandbox == "" && to.sandbox == "":
				return usagef(cmd, "neither side is SANDBOX:PATH")
			case from.sandbox != "" && to.sandbox != "":
				return usagef(cmd, "both sides are in sandboxes; copy by way of this machine")
			case recursive && (from.path == "-" || to.path == "-"):
				return usagef(cmd, "- is for a single file, not with -r")
			}
			return a.cp(cmd.Context(), from, to, recursive)
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "copy folders with all that is in them")
	return cmd
}

// place is one side of a copy; sandbox is empty on this machine.
type place struct{ sandbox, path string }

// parsePlace takes SANDBOX:PATH when what stands before the colon can be an id;
// a local file of such a name is written ./NAME.
func parsePlace(arg string) place {
	id, path, ok := strings.Cut(arg, ":")
	if ok && berth.IsIDPrefix(berth.FoldID(id)) {
		if path == "" {
			path = "."
		}
		return place{id, path}
	}
	return place{"", arg}
}

func (a *app) cp(ctx context.Context, from, to place, recursive bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, stop := a.untilSignal(ctx)
	defer stop()
	id := from.sandbox
	if id == "" {
		id = to.sandbox
	}
	sandbox, err := a.findReady(ctx, c, id, nil)
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return exitStatus(statusCancelled)
	}
	if err != nil {
		return err
	}
	k := copier{app: a, client: c, sandbox: sandbox.ID, recursive: recursive}
	if from.sandbox == "" {
		err = k.upload(ctx, from.path, to.path)
	} else {
		err = k.download(ctx, from.path, to.path)
	}
	switch {
	case errors.Is(context.Cause(ctx), errInterrupted):
		return exitStatus(statusCancelled)
	case err != nil:
		return err
	}
	if k.skipped > 0 {
		a.say("%d left out", k.skipped)
		return exitStatus(statusFailure)
	}
	return nil
}

// copier copies between this machine and one sandbox.
type copier struct {
	app       *app
	client    *client.Client
	sandbox   berth.SandboxID
	recursive bool
	skipped   int
}

func (k *copier) file(path string) client.File { return client.File{Sandbox: k.sandbox, Path: path} }

// skip leaves something out and names it.
func (k *copier) skip(path, why string) {
	k.app.say("left out %s: %s", terminal.Clean(path), why)
	k.skipped++
}

// stat describes a path of the sandbox; found is false when nothing is there.
func (k *copier) stat(ctx context.Context, path string) (info berth.FileInfo, found bool, err error) {
	data, err := k.client.ReadFile(ctx, k.file(path), 0, 1)
	if berth.CodeOf(err) == berth.CodeNotFound {
		return berth.FileInfo{}, false, nil
	}
	return data.Info, err == nil, err
}

// needRecursive is the error of a folder without -r.
func (k *copier) needRecursive(path string) error {
	if k.recursive {
		return nil
	}
	e := berth.Errorf(berth.CodeInvalid, "%s is a folder", path)
	e.Remediation = "copy it with -r"
	return e
}

// baseName is the last part of a path of this machine, also of "." and "..".
func (a *app) baseName(path string) (string, error) {
	name := filepath.Base(a.abs(path))
	if name == string(filepath.Separator) || name == "." {
		return "", fmt.Errorf("copying %s: %w", path, berth.Errorf(berth.CodeInvalid, "it has no name to be copied under"))
	}
	return name, nil
}
