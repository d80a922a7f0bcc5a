package main

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

// keyVariables are those of a server's environment that turn providers on; the
// first of each is the one to name.
var keyVariables = map[berth.ProviderKind][]string{
	berth.ProviderDaytona: {"DAYTONA_API_KEY"},
	berth.ProviderSprites: {"SPRITES_TOKEN", "SPRITE_TOKEN"},
	berth.ProviderExe:     {"EXE_SSH_KEY_FILE"},
}

// variableAtFault finds the variable of an account that cannot be used.
var variableAtFault = regexp.MustCompile(`^([A-Z][A-Z0-9_]+): `)

// offProvider reads a server's word that a provider is off, and why, which may be
// empty.
func offProvider(message string) (kind berth.ProviderKind, why string, ok bool) {
	for _, kind := range berth.ProviderKinds {
		if rest, is := strings.CutPrefix(message, "the "+string(kind)+" provider is off on this server"); is {
			return kind, strings.TrimPrefix(rest, ": "), true
		}
	}
	return "", "", false
}

// offIn is offProvider of an error or of its only problem.
func offIn(err error) (kind berth.ProviderKind, why string, ok bool) {
	var e *berth.Error
	if !errors.As(err, &e) {
		return "", "", false
	}
	if kind, why, ok = offProvider(e.Message); !ok && len(e.Problems) == 1 {
		return offProvider(e.Problems[0].Message)
	}
	return kind, why, ok
}

// turnOn is how a provider that is off for a reason is turned on, by the server
// that commands talk to; empty where the reason says it.
func (a *app) turnOn(kind berth.ProviderKind, why string) string {
	names := keyVariables[kind]
	e, err := a.endpoint()
	switch {
	case len(names) == 0 || err != nil:
		return ""
	case e.server != "":
		return "start that server with " + names[0] + " in its environment; one on AWS reads the key from a secret, see docs/aws.md"
	case variableAtFault.MatchString(why):
		return "correct " + variableAtFault.FindStringSubmatch(why)[1] + " or unset it, then `berth stop`: the next command starts the server again"
	}
	for _, name := range names {
		if a.env[name] != "" {
			return "this shell has " + name + ", but the server began without it: `berth stop`, and the next command here starts one that has it"
		}
	}
	return "`berth stop`, then start again with " + names[0] + " set"
}

// offLimit is how long a person waits to hear that a provider is off.
const offLimit = 3 * time.Second

// warnWhenOff tells who has made an environment that the server cannot use it yet.
// That the server cannot say so in time is no fault of the environment.
func (a *app) warnWhenOff(ctx context.Context, c *client.Client, id berth.EnvironmentID) {
	ctx, cancel := context.WithTimeout(ctx, offLimit)
	defer cancel()
	report, err := c.CheckEnvironment(ctx, id)
	if err != nil {
		return
	}
	for _, check := range report.Checks {
		if kind, why, off := offProvider(check.Summary); off {
			a.note("warning: %s", indentLines(check.Summary))
			if remedy := a.turnOn(kind, why); remedy != "" {
				a.note("  to do: %s", indentLines(remedy))
			}
			return
		}
	}
}
