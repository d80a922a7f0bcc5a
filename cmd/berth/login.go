package main

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/access"
	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/terminal"
	"github.com/berth-dev/berth/shared/version"
)

type loginFlags struct{ name, file string }

func loginCommand(a *app) *cobra.Command {
	var f loginFlags
	cmd := &cobra.Command{
		Use: "login URL", Short: "Keep a server and your key for it, and use it from now on",
		Long: `Keep a server and your key for it as a context, and make that the current one. The
key is typed at a hidden prompt, read from standard input, or from a file; it is
never an argument. It is checked with the server before it is kept, and it is sent
to that server alone.

Contexts are kept in $XDG_CONFIG_HOME/berth/` + credentials.FileName + `, which only you can read.
Logging in again replaces the key.`,
		Example: `  berth login https://abc123.execute-api.eu-west-1.amazonaws.com/v1 --name prod
  berth login https://berth.example.com --from-file key.txt`,
		Args:              loginArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.login(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the context's `name`; made of the server's unless given")
	flags.StringVar(&f.file, "from-file", "", "read the key from this `file`; - is standard input")
	_ = cmd.RegisterFlagCompletionFunc("name", a.completeContexts)
	return cmd
}

// loginArgs refuses a key among the arguments, and does not repeat it.
func loginArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usagef(cmd, "the server's URL is missing")
	case len(args) == 1 && !strings.HasPrefix(args[0], access.Prefix):
		return nil
	}
	e := berth.Errorf(berth.CodeInvalid, "the one argument is the server's URL, and a key is never an argument: it would show in the list of processes and in the shell's history")
	e.Remediation = "type the key at the prompt, send it to standard input, or use --from-file; and remove the key that you typed, if it was a real one"
	return e
}

func (a *app) login(ctx context.Context, url string, f loginFlags) error {
	server, err := credentials.ParseServer(url)
	if err != nil {
		return err
	}
	if _, err := a.configFolder(); err != nil { // before the key is asked for
		return err
	}
	file, err := a.credentials()
	if err != nil {
		return err
	}
	name, err := contextFor(file, server, f.name)
	if err != nil {
		return err
	}
	a.noteUnsafe(a.say, server)
	key, err := a.loginKey(server, f)
	if err != nil {
		return err
	}
	c, err := client.New(client.Config{BaseURL: server, Token: string(key.Reveal()), UserAgent: "berth/" + version.Version, Clock: a.clock})
	if err != nil {
		return err
	}
	defer c.Close()
	who, err := c.WhoAmI(ctx)
	if err != nil {
		return berth.Wrap(err, "checking the key, which was not kept")
	}
	err = a.changeCredentials(ctx, func(f *credentials.File) error {
		if _, err := contextFor(*f, server, name); err != nil { // another login was faster
			return err
		}
		f.Put(credentials.Context{Name: name, Server: server, Key: key})
		f.Current = name
		return nil
	})
	if err != nil {
		return err
	}
	a.note("logged in to %s as %s with %s; it is the current context, %s", server, terminal.Clean(who.Name), scopeList(who.Scopes), name)
	a.noteBeaten()
	return nil
}

// contextFor is the name under which a server is kept. A name that is another
// server's is a conflict, so that no login takes a server's place unseen.
func contextFor(file credentials.File, server, name string) (string, error) {
	if name == "" {
		if c, ok := file.ForServer(server); ok {
			return c.Name, nil
		}
		name = credentials.NameFor(server)
	}
	if _, err := credentials.ParseName(name); err != nil {
		return "", berth.FieldErrorf(berth.CodeInvalid, "--name", "%s", err.Error())
	}
	if c, ok := file.Find(name); ok && c.Server != server {
		e := berth.Errorf(berth.CodeConflict, "context %s is for %s", name, c.Server)
		e.Remediation = "choose another --name, or remove it with `berth context rm " + name + "`"
		return "", e
	}
	return name, nil
}

// loginKey reads the key from where the flags say. What has not the form of a key
// is sent nowhere: it may be the password for something else.
func (a *app) loginKey(server string, f loginFlags) (berth.SecretValue, error) {
	var none berth.SecretValue
	var value []byte
	var err error
	switch {
	case f.file != "":
		value, err = a.readInput(f.file, berth.MaxSecretBytes)
	case terminal.Is(a.stdin):
		value, err = a.promptHidden("key for " + server)
	default:
		value, err = a.readInput("-", berth.MaxSecretBytes)
	}
	if err != nil {
		return none, err
	}
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		e := berth.FieldErrorf(berth.CodeInvalid, "key", "is empty: nothing came")
		e.Remediation = "type it at the prompt of `berth login URL`, send it to standard input, or use --from-file"
		return none, e
	}
	if !access.IsValue(string(value)) {
		e := berth.FieldErrorf(berth.CodeInvalid, "key", "is not a berth key, and was sent nowhere: a key is %s and %d letters, digits, dashes and underscores", access.Prefix, access.ValueLength-len(access.Prefix))
		e.Remediation = "make one on the server with `berth key create`, or use the token file of an embedded server"
		return none, e
	}
	return berth.NewSecretValue(value), nil
}
