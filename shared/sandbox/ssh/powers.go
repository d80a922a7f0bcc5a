package ssh

import (
	"context"
	"sort"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// OpenShell is the command line of OpenSSH, for as long as the host lets one in. Its
// shell has nothing of the environment's variables.
func (p *Provider) OpenShell(ctx context.Context, ref berth.SandboxRef, _ time.Duration) (string, error) {
	state, err := p.Describe(ctx, ref)
	if err != nil {
		return "", err
	}
	if state.Status == berth.SandboxGone {
		return "", berth.Errorf(berth.CodeNotFound, "the sandbox does not exist")
	}
	return state.Hint, nil
}

// Streams is false on a host that holds no guest.
func (p *Provider) Streams(ctx context.Context, ref berth.SandboxRef) (bool, error) {
	h, err := p.find(ctx, ref)
	return err == nil && !h.plain, err
}

// Preview is ssh.preview_url_base with the port behind it. Error: unsupported
// without one, as the host's address is not known to berth.
func (p *Provider) Preview(ctx context.Context, ref berth.SandboxRef, port int, _ time.Duration) (string, error) {
	h, err := p.find(ctx, ref)
	if err != nil {
		return "", err
	}
	if port < 1 || port > 65535 {
		return "", berth.FieldErrorf(berth.CodeInvalid, "port", "must be 1 to 65535")
	}
	if h.previewBase == "" {
		return "", &berth.Error{
			Code: berth.CodeUnsupported, Message: "the environment has no ssh.preview_url_base",
			Remediation: "Set it to the address by which you reach the host, such as http://devbox.",
		}
	}
	return h.preview(strconv.Itoa(port)), nil
}

func sortByID(states []berth.SandboxState) {
	sort.Slice(states, func(i, j int) bool { return states[i].ID < states[j].ID })
}
