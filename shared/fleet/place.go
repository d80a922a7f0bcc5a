package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/records"
)

// quietBeats is how many heartbeats a host may miss before nothing new is placed
// on it: long before it is lost.
const quietBeats = 3

// survey is what can be said of every host about one environment.
type survey struct {
	demand berth.Demand
	wanted map[string]string
	// takers may be asked, the one with the most room first; roomy says that by the
	// count there is room now.
	takers []taker
	// others say why not.
	others []string
}

type taker struct {
	host  records.StoredHost
	usage records.Usage
	roomy bool
}

func (f *Fleet) survey(ctx context.Context, e berth.Environment) (survey, error) {
	s := survey{demand: berth.DemandOf(e), wanted: berth.HostLabels(e)}
	hosts, err := f.config.Records.AllHosts(ctx)
	if err != nil || len(hosts) == 0 {
		return s, err
	}
	usage, err := f.config.Records.ListUsage(ctx)
	if err != nil {
		return s, err
	}
	now := f.config.Clock.Now()
	for _, h := range hosts {
		if why := s.unfit(h, usage[h.ID], now); why != "" {
			s.others = append(s.others, string(h.ID)+" "+why)
			continue
		}
		u := usage[h.ID]
		s.takers = append(s.takers, taker{h, u, u.CPU+s.demand.CPU <= h.CPU && s.demand.MemoryBytes <= h.MemoryBytes-u.MemoryBytes})
	}
	slices.SortStableFunc(s.takers, func(a, b taker) int {
		return cmp.Or(
			cmp.Compare(b.host.CPU-b.usage.CPU, a.host.CPU-a.usage.CPU),
			cmp.Compare(b.host.MemoryBytes-b.usage.MemoryBytes, a.host.MemoryBytes-a.usage.MemoryBytes),
		)
	})
	return s, nil
}

// unfit says why a host cannot take such a sandbox however much room it has.
func (s survey) unfit(h records.StoredHost, u records.Usage, now time.Time) string {
	lacks := h.LacksLabels(s.wanted)
	switch silent := now.Sub(h.HeardAt()); {
	case h.Status == berth.HostJoining:
		return "has not joined yet"
	case h.Status == berth.HostLost:
		return "is lost"
	case u.Closed:
		return "is being removed"
	case h.Status == berth.HostDraining:
		return "is draining"
	case silent > quietBeats*berth.HostHeartbeat:
		return fmt.Sprintf("has been silent for %d s", int(silent.Seconds()))
	case !slices.Contains(h.Providers, berth.ProviderDocker):
		return "has no docker"
	case len(lacks) > 0:
		return "lacks the label " + strings.Join(lacks, ", ")
	case h.CPU < s.demand.CPU:
		return fmt.Sprintf("has %s in all", cores(h.CPU))
	case h.MemoryBytes < s.demand.MemoryBytes:
		return fmt.Sprintf("has %s of memory in all", megabytes(h.MemoryBytes))
	}
	return ""
}

// why says why nobody takes the sandbox.
func (s survey) why() string {
	said := slices.Clone(s.others)
	for _, t := range s.takers {
		said = append(said, fmt.Sprintf("%s has %s and %s left", t.host.ID, cores(t.host.CPU-t.usage.CPU), megabytes(t.host.MemoryBytes-t.usage.MemoryBytes)))
	}
	const shown = 5
	if len(said) > shown {
		said = append(said[:shown], fmt.Sprintf("and %d more", len(said)-shown))
	}
	if len(said) == 0 {
		return noHosts
	}
	return fmt.Sprintf("no host has room for %s and %s of memory: %s", cores(s.demand.CPU), megabytes(s.demand.MemoryBytes), strings.Join(said, "; "))
}

func cores(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

func megabytes(n int64) string { return fmt.Sprintf("%d MB", n/1e6) }

// Place asks hosts in the order of what they have left. Where no host has room the
// server's own engine takes the sandbox, if there is one and the environment does
// not choose its host.
func (f *Fleet) Place(ctx context.Context, sandbox berth.SandboxID, e berth.Environment) (berth.Placement, error) {
	s, err := f.survey(ctx, e)
	if err != nil {
		return berth.Placement{}, err
	}
	for _, t := range s.takers {
		taken, err := f.config.Records.TakePlace(ctx, t.host.Host, sandbox, s.demand)
		if err != nil {
			return berth.Placement{}, err
		}
		if taken {
			return berth.Placement{Host: t.host.ID}, nil
		}
	}
	if engine, _ := f.local(); engine != nil && len(s.wanted) == 0 {
		return berth.Placement{}, nil
	}
	return berth.Placement{Wait: s.why()}, nil
}

// Admits goes by the hosts that are recorded, whatever room they have: the server's
// own engine has no labels. One that is still to join has those that it was added
// with.
func (f *Fleet) Admits(ctx context.Context, e berth.Environment) error {
	wanted := berth.HostLabels(e)
	if len(wanted) == 0 {
		return nil
	}
	hosts, err := f.config.Records.AllHosts(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(hosts, func(h records.StoredHost) bool { return len(h.LacksLabels(wanted)) == 0 }) {
		return nil
	}
	return unchosen(wanted)
}

// unchosen is the error for labels that no host has.
func unchosen(wanted map[string]string) error {
	var labels, flags []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		labels = append(labels, name+"="+wanted[name])
		flags = append(flags, "--label "+berth.ShellQuote(name+"="+wanted[name]))
	}
	return &berth.Error{
		Code: berth.CodeUnsupported, Field: "environment.labels", Message: "choose a host with " + strings.Join(labels, " and ") + ", and there is none",
		Remediation: "Add such a host: berth host add NAME " + strings.Join(flags, " ") + "; or take the labels that begin with " + berth.HostLabelPrefix + " out of the environment.",
	}
}

// Survey also asks the host that would be the first, whether it answers.
func (f *Fleet) Survey(ctx context.Context, e berth.Environment) (wait string, err error) {
	s, err := f.survey(ctx, e)
	if err != nil {
		return "", err
	}
	host, found := berth.HostID(""), false
	for _, t := range s.takers {
		if t.roomy {
			host, found = t.host.ID, true
			break
		}
	}
	engine, _ := f.local()
	found = found || engine != nil && len(s.wanted) == 0
	switch {
	case !found && len(s.takers) == 0:
		if err := f.Admits(ctx, e); err != nil {
			return "", err
		}
		return "", &berth.Error{
			Code: berth.CodeUnavailable, Message: s.why(),
			Remediation: "Look at the hosts with `berth host list`, or add one: berth host add NAME.",
		}
	case !found:
		return s.why(), nil
	}
	_, err = f.Describe(ctx, berth.SandboxRef{ID: berth.SandboxID(f.config.Records.IDs.NewID()), Host: host})
	return "", err
}

// HostLost goes by the host's heartbeats.
func (f *Fleet) HostLost(ctx context.Context, host berth.HostID) (why string, err error) {
	if host == "" {
		return "", nil
	}
	h, err := f.config.Records.FindHost(ctx, host)
	switch {
	case berth.CodeOf(err) == berth.CodeNotFound, err == nil && h.Status == berth.HostJoining:
		return removed{host}.Error(), nil
	case err != nil:
		return "", err
	case h.Status == berth.HostLost:
		return fmt.Sprintf("host %s is lost: it was last heard of on %s UTC", host, h.HeardAt().UTC().Format(time.DateTime)), nil
	}
	return "", nil
}

// HealPlaces looks at every host.
func (f *Fleet) HealPlaces(ctx context.Context) error {
	hosts, err := f.config.Records.AllHosts(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range hosts {
		errs = append(errs, f.config.Records.HealPlaces(ctx, h.ID))
	}
	return errors.Join(errs...)
}
