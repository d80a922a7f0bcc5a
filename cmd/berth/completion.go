package main

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/credentials"
)

// completeLimit bounds what a person waits for at the Tab key.
const completeLimit = 500 * time.Millisecond

// maxCompletions is enough to choose from.
const maxCompletions = 200

func completionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print a script that completes commands in a shell",
		Long: `Print a script that completes berth's commands, flags and the live names of
environments, runs, sandboxes, hosts, secrets, variables, keys and contexts.`,
		Example: `  source <(berth completion bash)
  berth completion zsh > "${fpath[1]}/_berth"
  berth completion fish > ~/.config/fish/completions/berth.fish`,
		Args:                  exactArgs("the shell's name"),
		ValidArgs:             []string{"bash", "zsh", "fish", "powershell"},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return bashCompletion(root, a.stdout)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return usagef(cmd, "the shell must be bash, zsh, fish or powershell")
		},
	}
}

type completer = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

// live completes with the names that list finds on a running server; without
// one there are none. No server is started.
func (a *app) live(list func(context.Context, *client.Client) iter.Seq2[cobra.Completion, error]) completer {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeLimit)
		defer cancel()
		c, err := a.connectRunning()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for name, err := range list(ctx, c) {
			if err != nil || len(names) == maxCompletions {
				break
			}
			names = append(names, name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// each turns the items of a list into completions with a description.
func each[T any](items iter.Seq2[T, error], describe func(T) (name, description string)) iter.Seq2[cobra.Completion, error] {
	return func(yield func(cobra.Completion, error) bool) {
		for item, err := range items {
			name, description := describe(item)
			if !yield(cobra.CompletionWithDesc(name, description), err) {
				return
			}
		}
	}
}

func (a *app) completeEnvironments(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(func(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
		return each(client.All(ctx, c.ListEnvironments), func(e berth.Environment) (string, string) {
			return string(e.ID), string(e.Provider)
		})
	})(cmd, args, typed)
}

func (a *app) completeRuns(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(func(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
		return each(client.All(ctx, c.ListRuns), func(r berth.RunSummary) (string, string) {
			return string(r.ID), string(r.Status) + " " + oneLine(r.Command)
		})
	})(cmd, args, typed)
}

// completeSandboxes are those that there still is something of.
func (a *app) completeSandboxes(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.sandboxesIn(berth.SandboxCreating, berth.SandboxReady, berth.SandboxStopped, berth.SandboxFailed)(cmd, args, typed)
}

// completeLiveSandboxes are those that commands are started in, now or once they
// are ready or started again.
func (a *app) completeLiveSandboxes(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.sandboxesIn(berth.SandboxCreating, berth.SandboxReady, berth.SandboxStopped)(cmd, args, typed)
}

// completeReadySandboxes are those that can be entered, now or once they are ready.
func (a *app) completeReadySandboxes(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.sandboxesIn(berth.SandboxCreating, berth.SandboxReady)(cmd, args, typed)
}

// completeRunningSandboxes are those that can be stopped.
func (a *app) completeRunningSandboxes(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.sandboxesIn(berth.SandboxReady)(cmd, args, typed)
}

// completeStoppedSandboxes are those that can be started.
func (a *app) completeStoppedSandboxes(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.sandboxesIn(berth.SandboxStopped)(cmd, args, typed)
}

// sandboxesIn completes with the sandboxes that have one of these statuses.
func (a *app) sandboxesIn(statuses ...berth.SandboxStatus) completer {
	return a.live(func(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
		return func(yield func(cobra.Completion, error) bool) {
			for s, err := range client.All(ctx, c.ListSandboxes) {
				if err == nil && !slices.Contains(statuses, s.Status) {
					continue
				}
				if !yield(cobra.CompletionWithDesc(string(s.ID), string(s.Environment)+" "+string(s.Status)), err) {
					return
				}
			}
		}
	})
}

func (a *app) completeSecrets(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(func(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
		return each(client.All(ctx, c.ListSecrets), func(s berth.Secret) (string, string) {
			return s.Name, oneLine(s.Description)
		})
	})(cmd, args, typed)
}

func (a *app) completeVariables(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(func(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
		return each(client.All(ctx, c.ListVariables), func(v berth.Variable) (string, string) { return v.Name, "" })
	})(cmd, args, typed)
}

func (a *app) completeKeys(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(func(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
		return each(client.All(ctx, c.ListKeys), func(k berth.Key) (string, string) {
			return string(k.ID), k.Name + ": " + scopeList(k.Scopes)
		})
	})(cmd, args, typed)
}

func (a *app) completeHosts(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.live(func(ctx context.Context, c *client.Client) iter.Seq2[cobra.Completion, error] {
		return each(client.All(ctx, c.ListHosts), func(h berth.Host) (string, string) {
			return string(h.ID), string(h.Status) + " " + h.Address
		})
	})(cmd, args, typed)
}

// completeContexts names the contexts of this machine.
func (a *app) completeContexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	file, err := a.credentials()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := []cobra.Completion{cobra.CompletionWithDesc(credentials.Local, "the server on this machine")}
	for _, c := range file.List() {
		names = append(names, cobra.CompletionWithDesc(c.Name, c.Server))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// firstOnly completes the first argument alone.
func firstOnly(complete completer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}
