package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/strict"
	"github.com/berth-dev/berth/shared/terminal"
)

const editorHead = `# Environment %s. Save and leave the editor to apply; leave it unchanged to give up.
# A line that is taken out goes back to its default.

`

// editByHand lets a person change an environment as TOML in their editor. What
// the server refuses is kept in the file.
func (a *app) editByHand(ctx context.Context, c *client.Client, current client.Environment) (client.Environment, error) {
	editor, err := a.editor()
	if err != nil {
		return current, err
	}
	text, err := environmentTOML(current.Environment, nil)
	if err != nil {
		return current, err
	}
	page := fmt.Sprintf(editorHead, current.ID) + text
	path, err := a.writeTemporary(page)
	if err != nil {
		return current, local(err, "writing a file for the editor")
	}
	changed, err := a.applyEdit(ctx, c, current, editor, path, text)
	if left, readErr := os.ReadFile(path); err != nil && (readErr != nil || string(left) != page) {
		a.say("your text is kept in %s; `berth env edit %s --file %s` applies it", path, current.ID, path)
		return current, err
	}
	os.Remove(path) // there is nothing of the person's own in it that is not applied
	return changed, err
}

func (a *app) applyEdit(ctx context.Context, c *client.Client, current client.Environment, editor, path, before string) (client.Environment, error) {
	if err := a.runEditor(ctx, editor, path); err != nil {
		return current, err
	}
	tree, err := a.readDocument(path)
	if err != nil {
		return current, err
	}
	old, err := strict.TOML([]byte(before))
	if err != nil {
		return current, err
	}
	if sameTree(tree, old) {
		return current, nil
	}
	return a.replace(ctx, c, current, tree)
}

func (a *app) editor() (string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if a.env[name] != "" {
			return a.env[name], nil
		}
	}
	if !terminal.Is(a.stdin) || !terminal.Is(a.stdout) {
		e := berth.Errorf(berth.CodeInvalid, "there is no terminal for an editor")
		e.Remediation = "change fields with --set FIELD=VALUE, --patch or --file, or set EDITOR"
		return "", e
	}
	if runtime.GOOS == "windows" {
		return "notepad", nil
	}
	return "vi", nil
}

func (a *app) writeTemporary(text string) (string, error) {
	file, err := os.CreateTemp(a.env["TMPDIR"], "berth-env-*.toml")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	return file.Name(), errors.Join(err, file.Close())
}

// runEditor runs an editor as it is written in the environment: with arguments,
// as a shell reads them.
func (a *app) runEditor(ctx context.Context, editor, path string) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, editor, path)
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(editor), path)
		cmd = exec.CommandContext(ctx, words[0], words[1:]...)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = a.stdin, a.stdout, a.stderr, a.dir
	if err := cmd.Run(); err != nil {
		return &berth.Error{
			Code: berth.CodeUnavailable, Message: "the editor did not end well; nothing is changed", Cause: err,
			Remediation: "set EDITOR to an editor that works, or change fields with --set FIELD=VALUE",
		}
	}
	return nil
}
