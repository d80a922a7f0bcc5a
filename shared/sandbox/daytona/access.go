package daytona

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/sandbox/daytona/daytonaapi"
)

var (
	_ berth.ShellOpener = (*Provider)(nil)
	_ berth.Previewer   = (*Provider)(nil)
	_ berth.Snapshotter = (*Provider)(nil)
)

const (
	usualShell   = time.Hour
	usualPreview = time.Hour
	longestLink  = 24 * time.Hour
)

// within is ttl in whole units, rounded up and bounded; usual when it is zero.
func within(ttl, usual, unit time.Duration) int {
	if ttl <= 0 {
		ttl = usual
	}
	return int(berth.RoundUp(int64(min(ttl, longestLink)), int64(unit)))
}

// OpenShell gives the command line of an SSH access, for an hour unless ttl says
// otherwise. Whoever has the line is let in; accesses that were given before end.
func (p *Provider) OpenShell(ctx context.Context, ref berth.SandboxRef, ttl time.Duration) (string, error) {
	s, err := p.started(ctx, ref)
	if err != nil {
		return "", err
	}
	access, err := p.client.CreateSSHAccess(ctx, s.ID, within(ttl, usualShell, time.Minute))
	if err != nil {
		return "", err
	}
	return sshCommand(access.Command)
}

var (
	sshDestination = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:+=-]*@[A-Za-z0-9][A-Za-z0-9.-]*$`)
	sshPort        = regexp.MustCompile(`^[0-9]{1,5}$`)
)

// sshCommand is a command line of ssh, in the form that Daytona gives. People run
// it: it must have a destination, at most a port, and no option that runs something.
func sshCommand(line string) (string, error) {
	words := strings.Fields(line)
	rest := words[min(1, len(words)):]
	if len(rest) == 3 && rest[0] == "-p" && sshPort.MatchString(rest[1]) {
		rest = rest[2:]
	}
	if len(words) < 2 || words[0] != "ssh" || len(rest) != 1 || !sshDestination.MatchString(rest[0]) {
		return "", berth.Errorf(berth.CodeUnavailable, "Daytona's answer has no command line of ssh")
	}
	return strings.Join(words, " "), nil
}

// Preview gives a signed URL of a port, for an hour unless ttl says otherwise.
// Whoever has it may open the port.
func (p *Provider) Preview(ctx context.Context, ref berth.SandboxRef, port int, ttl time.Duration) (string, error) {
	if port < 1 || port > 65535 {
		return "", berth.FieldErrorf(berth.CodeInvalid, "port", "must be a number from 1 to 65535")
	}
	s, err := p.started(ctx, ref)
	if err != nil {
		return "", err
	}
	address, err := p.client.SignedPreviewURL(ctx, s.ID, port, within(ttl, usualPreview, time.Second))
	if err != nil {
		return "", err
	}
	// It is shown to people, who open it.
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		return "", berth.Errorf(berth.CodeUnavailable, "Daytona's answer has no URL of the port")
	}
	return address, nil
}

// Snapshot keeps the sandbox's file system as a snapshot of that name, which is
// active some time later. Error: conflict for a name that is taken.
func (p *Provider) Snapshot(ctx context.Context, ref berth.SandboxRef, name string) error {
	e := berth.Environment{Daytona: &berth.DaytonaOptions{Snapshot: name}}
	if faults := berth.ValidateLayer(e); name == "" || len(faults) > 0 {
		return berth.FieldErrorf(berth.CodeInvalid, "name", "is no snapshot name: letters, digits and _ . - : in parts split by slashes, and not latest")
	}
	s, err := p.started(ctx, ref)
	if err != nil {
		return err
	}
	return p.client.SnapshotSandbox(ctx, s.ID, name)
}

// started finds a sandbox that runs. Error: conflict for another state.
func (p *Provider) started(ctx context.Context, ref berth.SandboxRef) (daytonaapi.Sandbox, error) {
	s, err := p.take(ctx, p.box(ref.ID), ref)
	if err == nil && s.State != daytonaapi.Started {
		err = berth.Errorf(berth.CodeConflict, "the sandbox is not running: its state is %s", s.State)
	}
	return s, err
}
