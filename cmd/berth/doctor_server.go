package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/client"
	"github.com/berth-dev/berth/shared/credentials"
	"github.com/berth-dev/berth/shared/version"
)

// maxSkew is how far two clocks may be apart before signatures and expiries suffer.
const maxSkew = 30 * time.Second

// checkServer looks at the server from the outside: what answers, as whom, with
// which version, and whether the local provider is on.
func (a *app) checkServer(ctx context.Context) []finding {
	const name = "server"
	probe := &clockProbe{next: http.DefaultTransport, now: a.clock.Now}
	c, err := a.connectProbed(probe)
	if err != nil {
		return said(name, fail, err.Error(), a.remedyFor(err))
	}
	defer c.Close()
	v, err := c.Version(ctx)
	if err != nil {
		return said(name, fail, err.Error(), a.remedyFor(err))
	}
	findings := said(name, pass, "answers, installation "+string(v.Installation), "")
	findings = append(findings, versionFinding(v), probe.finding())
	who, err := c.WhoAmI(ctx)
	if err != nil {
		return append(findings, finding{"token", fail, err.Error(), a.remedyFor(err)})
	}
	findings = append(findings, finding{"token", pass, fmt.Sprintf("is %s's, with the scopes %s", who.Name, scopeList(who.Scopes)), ""})
	return append(findings, a.localFinding(ctx, c))
}

// checkContext tells which server is looked at, and what chose it.
func (a *app) checkContext(context.Context) []finding {
	const name = "context"
	e, err := a.endpoint()
	switch {
	case err != nil:
		return said(name, fail, err.Error(), a.remedyFor(err))
	case e.server != "" && !credentials.IsSafe(e.server):
		return said(name, warn, a.place(e)+", chosen by "+e.by+": the way there is not encrypted", "use an https URL")
	}
	return said(name, pass, a.place(e)+", chosen by "+e.by, "")
}

// remedyFor is what to do about an error, as it would be told where it ends a command.
func (a *app) remedyFor(err error) string {
	var e *berth.Error
	if !errors.As(err, &e) {
		return ""
	}
	here := ""
	if e.Code == berth.CodeUnavailable || e.Code == berth.CodeTimedOut {
		here = "see server.log in the data folder"
	}
	return cmp.Or(e.Remediation, a.remedy(err), here, generalRemedy(e, client.RequestID(err)))
}

func versionFinding(v berth.Version) finding {
	if v.Version == version.Version {
		return finding{"version", pass, v.Version + " on both sides", ""}
	}
	return finding{
		"version", warn, fmt.Sprintf("the server is %s, this program is %s", v.Version, version.Version),
		"use the same version; `berth stop` ends one of the old version on this machine, and the next command starts it anew",
	}
}

func (a *app) localFinding(ctx context.Context, c *client.Client) finding {
	const name = "local provider"
	_, err := c.FindEnvironment(ctx, berth.LocalEnvironmentID)
	switch {
	case err == nil:
		return finding{name, pass, "is on: runs in environment local work on the server's machine, without isolation", ""}
	case berth.CodeOf(err) == berth.CodeNotFound:
		return finding{name, warn, "is off on this server", "start it with --allow-local to run on its machine"}
	}
	return finding{name, fail, err.Error(), a.remedyFor(err)}
}

// clockProbe compares the Date of the server's answers with this machine's clock.
type clockProbe struct {
	next  http.RoundTripper
	now   func() time.Time
	skew  time.Duration
	known bool
}

func (p *clockProbe) RoundTrip(req *http.Request) (*http.Response, error) {
	before := p.now()
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if date, derr := http.ParseTime(resp.Header.Get("Date")); derr == nil {
		middle := before.Add(p.now().Sub(before) / 2)
		p.skew, p.known = date.Sub(middle).Truncate(time.Second), true
	}
	return resp, nil
}

func (p *clockProbe) finding() finding {
	switch {
	case !p.known:
		return finding{"clock", warn, "the server does not tell its time", ""}
	case p.skew.Abs() > maxSkew:
		return finding{"clock", warn, fmt.Sprintf("the server's clock is %s off this one", p.skew), "synchronise the clocks of both machines"}
	}
	return finding{"clock", pass, "agrees with the server's", ""}
}
