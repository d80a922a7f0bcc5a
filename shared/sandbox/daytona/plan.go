package daytona

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

// DefaultAutoStop is how long an idle sandbox runs when the environment does not
// say. Daytona's own 15 minutes are shorter than a model may think.
const DefaultAutoStop = 2 * time.Hour

// unitOf is what Daytona's number of GB counts for a size: it takes 8 for 8GB and
// for 8GiB.
func unitOf(s berth.Size) int64 {
	if strings.HasSuffix(string(s), "iB") {
		return 1 << 30
	}
	return 1e9
}

// plan is what a spec asks of Daytona.
type plan struct {
	spec     berth.SandboxSpec
	create   daytonaapi.NewSandbox // without name and snapshot
	build    *build                // nil uses the snapshot that is named
	snapshot string
}

// plan checks all that can be checked before anything is made. Errors: invalid,
// unsupported.
func (p *Provider) plan(ctx context.Context, spec berth.SandboxSpec) (plan, error) {
	e := berth.NormalizeEnvironment(spec.Environment)
	e.Provider = berth.ProviderDaytona
	if d := e.Image.Dockerfile; d != nil {
		if line, file := berth.LocalCopy(d.Value); file != "" {
			return plan{}, &berth.Error{
				Code: berth.CodeUnsupported, Field: "image.dockerfile.value",
				Message:     "line " + strconv.Itoa(line) + " copies the local file " + file + ", and an inline Dockerfile has no files beside it",
				Remediation: "Write the file within the Dockerfile (COPY <<EOF), fetch it by URL, or copy it in a prepare step.",
			}
		}
	}
	if err := spec.Check(berth.ProviderDaytona); err != nil {
		return plan{}, err
	}
	out := plan{spec: spec, snapshot: DefaultSnapshot}
	out.create = daytonaapi.NewSandbox{Labels: labels(spec, p.config.Installation), AutoDeleteInterval: 0}
	if e.Lifecycle.Preserve {
		out.create.AutoDeleteInterval = -1
	}
	if e.Daytona != nil {
		out.create.Target = e.Daytona.Target
	}
	err := out.setNetwork(e.Network)
	if err == nil {
		out.create.AutoStopInterval, err = autoStopMinutes(e.Lifecycle.AutoStop)
	}
	if err == nil {
		err = p.setImage(ctx, &out, e)
	}
	return out, err
}

// labels are the environment's and ours, which win.
func labels(spec berth.SandboxSpec, installation berth.InstallationID) map[string]string {
	all := map[string]string{}
	maps.Copy(all, spec.Environment.Labels)
	maps.Copy(all, spec.Labels)
	delete(all, labelWorkspace)
	delete(all, labelGuest)
	all[labelInstallation], all[labelSandbox], all[labelRun] = string(installation), string(spec.ID), string(spec.Run)
	all[labelEphemeral] = strconv.FormatBool(!spec.Environment.Lifecycle.Preserve)
	return all
}

// setNetwork sends either the block or the list: Daytona's update and its
// creation do not agree on which of both wins.
func (out *plan) setNetwork(n berth.Network) error {
	switch n.Mode {
	case berth.NetworkAllowAll:
	case berth.NetworkBlock:
		out.create.NetworkBlockAll = true
	case berth.NetworkCIDRAllowList:
		var list []string
		for i, text := range n.Allow {
			prefix, err := berth.ParseCIDR(text)
			if err != nil {
				return berth.FieldErrorf(berth.CodeInvalid, berth.IndexPath("network.allow", i), "%v", err)
			}
			list = append(list, prefix.String())
		}
		if len(list) == 0 {
			out.create.NetworkBlockAll = true // an empty list would open everything
		}
		out.create.NetworkAllowList = strings.Join(list, ",")
	default:
		return berth.FieldErrorf(berth.CodeUnsupported, "network.mode", "%q is not known to the provider daytona", n.Mode)
	}
	return nil
}

// autoStopMinutes rounds up: a sandbox must not stop before its time, and 0 would
// be never.
func autoStopMinutes(d *berth.Duration) (int, error) {
	span := DefaultAutoStop
	if d != nil {
		var err error
		if span, err = d.Parse(); err != nil {
			return 0, berth.FieldErrorf(berth.CodeInvalid, "lifecycle.auto_stop", "%v", err)
		}
	}
	return max(1, int(berth.RoundUp(int64(span), int64(time.Minute)))), nil
}

func (p *Provider) setImage(ctx context.Context, out *plan, e berth.Environment) error {
	named := e.Daytona != nil && e.Daytona.Snapshot != ""
	switch {
	case named && (e.Daytona.Snapshot == "latest" || strings.HasSuffix(e.Daytona.Snapshot, ":latest")):
		return berth.FieldErrorf(berth.CodeInvalid, "daytona.snapshot", "must not be latest: name a snapshot that stays the same")
	case named && e.Image.Dockerfile != nil:
		return berth.FieldErrorf(berth.CodeInvalid, "daytona.snapshot", "names a snapshot beside image.dockerfile, which makes one: set one of both")
	case named:
		out.snapshot = e.Daytona.Snapshot
	case e.Image.Dockerfile != nil:
		return p.setBuild(ctx, out, e)
	}
	return nil
}

func (p *Provider) setBuild(ctx context.Context, out *plan, e berth.Environment) error {
	b := build{dockerfile: e.Image.Dockerfile.Value, target: out.create.Target}
	if e.Resources.CPU != nil {
		b.cpu = *e.Resources.CPU
	}
	for _, size := range []struct {
		field string
		from  *berth.Size
		to    *int
	}{{"resources.memory", e.Resources.Memory, &b.memory}, {"resources.disk", e.Resources.Disk, &b.disk}} {
		if size.from == nil {
			continue
		}
		bytes, err := size.from.Bytes()
		if err != nil {
			return berth.FieldErrorf(berth.CodeInvalid, size.field, "%v", err)
		}
		*size.to = int(berth.RoundUp(bytes, unitOf(*size.from)))
	}
	scope, err := p.config.Scope(ctx)
	if err != nil {
		return err
	}
	out.build, out.snapshot = &b, snapshotName(p.config.Installation, scope.Reveal(), b)
	return nil
}
