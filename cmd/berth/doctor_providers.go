package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
)

// checkProviders tells which providers are on and answer, and why others are off,
// but for local, of which the check of the server tells.
func (a *app) checkProviders(ctx context.Context) []finding {
	c, err := a.connect()
	if err != nil {
		return nil // the check of the server tells
	}
	defer c.Close()
	found := make([][]finding, len(berth.ProviderKinds))
	var asking sync.WaitGroup
	for i, kind := range berth.ProviderKinds {
		if kind != berth.ProviderLocal {
			asking.Go(func() { found[i] = a.providerFinding(ctx, c, kind) })
		}
	}
	asking.Wait()
	var all []finding
	for _, f := range found {
		all = append(all, f...)
	}
	return all
}

// providerFinding is by the preflight of a run in an environment that is not stored.
// A provider that is off is no fault: nobody needs all.
func (a *app) providerFinding(ctx context.Context, c *client.Client, kind berth.ProviderKind) []finding {
	const id = "of-the-doctor"
	settings := fmt.Sprintf("[environments.%s]\nprovider = %q\n", id, kind)
	if kind == berth.ProviderSSH { // of a name that nobody has, no host is asked
		settings += fmt.Sprintf("[environments.%s.ssh]\ndestination = \"host.invalid\"\nworking_directory = \"/srv/work\"\n", id)
	}
	report, err := c.Preflight(ctx, berth.RunRequest{
		Environment: id, Command: []string{"true"}, Configs: []berth.ConfigFile{{Kind: berth.ConfigUser, Path: "berth doctor", Source: settings}},
	})
	if err != nil {
		return nil // a key that may not ask, or a server that another check tells of
	}
	name := "provider " + string(kind)
	for _, check := range report.Checks {
		switch {
		case check.Name == "provider" && check.Status == berth.CheckError:
			_, why, known := offProvider(check.Summary)
			if !known {
				why = check.Summary
			}
			return said(name, off, strings.TrimSuffix("is off: "+why, ": "), cmp.Or(check.Remediation, a.turnOn(kind, why)))
		case check.Name == "reachability" && check.Status == berth.CheckError:
			message := check.Summary
			if len(check.Details) > 0 && check.Details[0].Message != message {
				message += ": " + check.Details[0].Message
			}
			return said(name, warn, "is on: "+message, check.Remediation)
		case check.Name == "reachability" && check.Status == berth.CheckPass:
			return said(name, pass, "is on, and answers", "")
		case check.Name == "reachability":
			return said(name, pass, "is on: "+check.Summary, "")
		}
	}
	return nil
}
