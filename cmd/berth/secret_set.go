package main

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal"
)

type secretFlags struct {
	file, kind, description string
	keepNewline, createOnly bool
}

func secretSetCommand(a *app) *cobra.Command {
	var f secretFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set a secret's value",
		Long: `Set a secret, new or there already. The value is typed at a hidden prompt, read
from standard input, or from a file. It is never an argument: arguments show in
the list of processes and in the shell's history.

One newline at the end of a token's value is left out, as most tools put one
there; --keep-newline keeps it. A file's bytes are kept as they are.`,
		Example: `  berth secret set API_TOKEN
  printf %s "$TOKEN" | berth secret set API_TOKEN
  berth secret set SSH_KEY --type file --from-file ~/.ssh/id_ed25519`,
		Args:              secretSetArgs,
		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := a.secretValue(args[0], f)
			if err != nil {
				return err
			}
			return a.secretSet(cmd.Context(), args[0], value, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "from-file", "", "read the value from this `file`; - is standard input")
	flags.StringVar(&f.kind, "type", string(berth.SecretToken), "`kind` of secret: token, or file for what no environment refers to")
	flags.StringVar(&f.description, "description", "", "`text` that says what it is for")
	flags.BoolVar(&f.keepNewline, "keep-newline", false, "keep a newline at the end of a token")
	flags.BoolVar(&f.createOnly, "create-only", false, "leave a secret that exists as it is, and fail")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(
		[]string{string(berth.SecretToken), string(berth.SecretFile)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// secretSetArgs refuses a value among the arguments, and does not repeat it.
func secretSetArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef(cmd, "the secret's name is missing")
	}
	if len(args) == 1 && !strings.Contains(args[0], "=") {
		_, err := berth.ParseName("secret name", args[0]) // before a value is asked for
		return err
	}
	e := berth.Errorf(berth.CodeInvalid, "a secret's value is never an argument: it would show in the list of processes and in the shell's history")
	e.Remediation = "type it at the prompt of `berth secret set NAME`, send it to standard input, or use --from-file; and change the value that you typed, if it was a real one"
	return e
}

// secretValue reads the value from where the flags say.
func (a *app) secretValue(name string, f secretFlags) ([]byte, error) {
	var value []byte
	var err error
	switch {
	case f.file != "":
		value, err = a.readInput(f.file, berth.MaxSecretBytes+1)
	case terminal.Is(a.stdin):
		value, err = a.promptHidden("value of " + name)
	default:
		value, err = a.readInput("-", berth.MaxSecretBytes+1)
	}
	if err != nil {
		return nil, err
	}
	if f.kind == string(berth.SecretToken) && !f.keepNewline {
		value = bytes.TrimSuffix(value, []byte("\n"))
		value = bytes.TrimSuffix(value, []byte("\r"))
	}
	if len(value) == 0 {
		e := berth.FieldErrorf(berth.CodeInvalid, "value", "is empty: nothing came")
		e.Remediation = "type it at the prompt of `berth secret set NAME`, send it to standard input, or use --from-file"
		return nil, e
	}
	if err := berth.CheckSecretValue(value); err != nil {
		return nil, berth.FieldErrorf(berth.CodeOf(err), "value", "%s", err)
	}
	return value, nil
}

func (a *app) secretSet(ctx context.Context, name string, value []byte, f secretFlags) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	req := berth.SecretRequest{Type: berth.SecretType(f.kind), Description: f.description}
	if utf8.Valid(value) {
		req.Value = string(value)
	} else {
		req.ValueBase64 = value
	}
	if _, err := c.PutSecret(ctx, name, req, f.createOnly); err != nil {
		return err
	}
	a.note("set secret %s (%s)", terminal.Clean(name), f.kind)
	return nil
}
