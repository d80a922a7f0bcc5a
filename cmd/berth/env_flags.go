package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/shared/berth"
)

// environmentFlags are the fields of an environment as flags.
type environmentFlags struct {
	provider, cwd, image, dockerfile, memory, disk, network, autoStop string
	cpu                                                               int
	preserve, stopOnTerminal                                          bool
	allow, labels, env                                                []string
}

func (f *environmentFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.provider, "provider", "p", "", "`kind` of sandbox: "+orList(providerNames()))
	flags.StringVar(&f.cwd, "cwd", "", "absolute `folder` on the server to work in (provider local)")
	flags.StringVar(&f.image, "image", "", "image `reference`, such as buildpack-deps:noble")
	flags.StringVar(&f.dockerfile, "dockerfile", "", "`file` whose text is the image's Dockerfile")
	flags.IntVar(&f.cpu, "cpu", 0, "whole `cores`")
	flags.StringVar(&f.memory, "memory", "", "`size` with a unit, such as 512MiB or 4GB")
	flags.StringVar(&f.disk, "disk", "", "`size` with a unit")
	flags.StringVar(&f.network, "network", "", "`mode`: allow_all, block or cidr_allow_list")
	flags.StringArrayVar(&f.allow, "allow", nil, "`CIDR` that cidr_allow_list lets through; may be repeated")
	flags.BoolVar(&f.preserve, "preserve", false, "keep sandboxes when their runs have ended")
	flags.BoolVar(&f.stopOnTerminal, "stop-on-terminal", true, "stop kept sandboxes at the end of their runs")
	flags.StringVar(&f.autoStop, "auto-stop", "", "stop a sandbox after this `time` without use, such as 30m")
	flags.StringArrayVarP(&f.labels, "label", "l", nil, "`NAME=VALUE` label; may be repeated")
	flags.StringArrayVar(&f.env, "env", nil, "`NAME=VALUE` variable, which may hold {{ vars.NAME }} and {{ secrets.NAME }}; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(providerNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("network", cobra.FixedCompletions(
		[]string{string(berth.NetworkAllowAll), string(berth.NetworkBlock), string(berth.NetworkCIDRAllowList)}, cobra.ShellCompDirectiveNoFileComp))
}

func providerNames() []string {
	names := make([]string, len(berth.ProviderKinds))
	for i, kind := range berth.ProviderKinds {
		names[i] = string(kind)
	}
	return names
}

// apply sets the fields whose flags were given. What they may be, the server decides.
func (f *environmentFlags) apply(a *app, cmd *cobra.Command, tree map[string]any) error {
	fields := []struct {
		flag, path string
		value      any
	}{
		{"provider", "provider", f.provider},
		{"cwd", "cwd", f.cwd},
		{"image", "image.docker", f.image},
		{"cpu", "resources.cpu", f.cpu},
		{"memory", "resources.memory", f.memory},
		{"disk", "resources.disk", f.disk},
		{"network", "network.mode", f.network},
		{"allow", "network.allow", f.allow},
		{"preserve", "lifecycle.preserve", f.preserve},
		{"stop-on-terminal", "lifecycle.stop_on_terminal", f.stopOnTerminal},
		{"auto-stop", "lifecycle.auto_stop", f.autoStop},
	}
	for _, field := range fields {
		if cmd.Flags().Changed(field.flag) {
			setField(tree, strings.Split(field.path, "."), field.value)
		}
	}
	if f.dockerfile != "" {
		text, err := a.readInput(f.dockerfile, maxDocument)
		if err != nil {
			return err
		}
		setField(tree, []string{"image", "dockerfile"}, inlineText(string(text)))
	}
	for flag, entries := range map[string][]string{"label": f.labels, "env": f.env} {
		set, err := pairs(cmd, flag, entries)
		if err != nil {
			return err
		}
		for name, value := range set {
			setField(tree, []string{map[string]string{"label": "labels", "env": "env"}[flag], name}, value)
		}
	}
	return nil
}

// setField puts a value at a path and makes the objects on the way; what is no
// object there is replaced.
func setField(tree map[string]any, path []string, value any) {
	for ; len(path) > 1; path = path[1:] {
		inner, ok := tree[path[0]].(map[string]any)
		if !ok {
			inner = map[string]any{}
			tree[path[0]] = inner
		}
		tree = inner
	}
	tree[path[0]] = value
}
