package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/terminal"
)

type keyFlags struct {
	scopes  []string
	expires string
	asJSON  bool
}

func keyCreateCommand(a *app) *cobra.Command {
	var f keyFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make an API key and show it, once",
		Long: `Make an API key. The key itself is printed on standard output, alone and this
once; what else there is to say goes to standard error.

A key gives only scopes that it has itself. Without --scope the new one has read,
run and admin. The scopes do not include each other: what only runs things wants
read and run.`,
		Example: `  berth key create ci --scope read --scope run --expires 90d
  berth key create dashboard --scope read
  berth key create ops --json`,
		Args: exactArgs("the key's name"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.keyCreate(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.scopes, "scope", nil, "`scope` that the key has: read, run or admin; may be repeated")
	flags.StringVar(&f.expires, "expires", "", "`time` that the key counts, such as 30d; for ever unless given")
	jsonFlag(cmd, &f.asJSON, "the key and its value")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{
		string(berth.ScopeRead) + "\tlook", string(berth.ScopeRun) + "\truns, sandboxes, commands, files",
		string(berth.ScopeAdmin) + "\tenvironments, variables, secrets, keys",
	}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// defaultScopes are those of a key that is made without any being named.
var defaultScopes = []berth.Scope{berth.ScopeRead, berth.ScopeRun, berth.ScopeAdmin}

func (a *app) keyCreate(ctx context.Context, name string, f keyFlags) error {
	expires, err := span("expires", f.expires)
	if err != nil {
		return err
	}
	req := berth.KeyRequest{Name: name, ExpiresIn: expires, Scopes: defaultScopes}
	if len(f.scopes) > 0 {
		req.Scopes = nil
		for _, scope := range f.scopes {
			req.Scopes = append(req.Scopes, berth.Scope(scope))
		}
	}
	if err := berth.Invalid(berth.ValidateKeyRequest(req)); err != nil {
		return err
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	key, err := c.CreateKey(ctx, req)
	if err != nil {
		return err
	}
	a.note("made key %s (%s) with %s, %s; this is the only time that it is shown",
		terminal.Clean(key.Name), key.ID, scopeList(key.Scopes), a.expiry(key.Key))
	if f.asJSON {
		err = a.printJSON(key)
	} else {
		err = a.printf("%s\n", key.Value)
	}
	if err != nil {
		return &berth.Error{
			Code: berth.CodeUnavailable, Message: "showing the key, which the server has now", Cause: err,
			Remediation: fmt.Sprintf("remove it with `berth key rm %s`, and make another", key.ID),
		}
	}
	return nil
}

func scopeList(scopes []berth.Scope) string {
	return strings.Trim(fmt.Sprint(scopes), "[]")
}

// expiry says how long a key counts.
func (a *app) expiry(key berth.Key) string {
	now := a.clock.Now()
	switch {
	case key.ExpiresAt == nil:
		return "never expires"
	case key.Expired(now):
		return "expired " + a.ago(*key.ExpiresAt)
	}
	return "expires in " + terminal.Span(key.ExpiresAt.Sub(now))
}
