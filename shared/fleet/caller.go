package fleet

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/control"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
	"github.com/berth-dev/berth/shared/sandbox/remote"
)

// Caller calls host agents back when they join.
type Caller struct {
	Installation berth.InstallationID
	Clock        berth.Clock
}

var _ control.Caller = Caller{}

// callTime is how long an agent has to answer; its engine is asked too.
const callTime = 15 * time.Second

// Call asks the agent for its health. Errors: invalid, with the field of the join
// that is at fault; conflict for an agent that belongs to another installation.
func (c Caller) Call(ctx context.Context, k control.HostCall) (control.HostAnswer, error) {
	fingerprint, err := agentapi.ParseFingerprint(k.Fingerprint)
	if err != nil {
		return control.HostAnswer{}, ofField("fingerprint", err)
	}
	agent, err := remote.New(remote.Config{
		URL: k.Address, Fingerprint: fingerprint, Token: string(k.Bearer.Reveal()), Kind: berth.ProviderDocker,
		Installation: c.Installation, Clock: c.Clock,
	})
	if err != nil {
		return control.HostAnswer{}, ofField("address", err)
	}
	defer agent.Close()
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	health, err := agent.Health(ctx)
	if err != nil {
		return control.HostAnswer{}, refusal(err)
	}
	answer := control.HostAnswer{
		Installation: health.Installation, Version: health.Version, CPU: health.CPUs, MemoryBytes: health.MemoryBytes,
		Providers: map[berth.ProviderKind]string{},
	}
	for _, p := range health.Providers {
		answer.Providers[p.Kind] = p.Problem
	}
	return answer, nil
}

// refusal says what of the join is wrong by what came of the call.
func refusal(err error) error {
	switch {
	case remote.CertificateChanged(err):
		return &berth.Error{
			Code: berth.CodeInvalid, Field: "fingerprint", Message: "is not that of the certificate that is shown at the address",
			Remediation: "See whether the address leads to this host, and to berth-agent itself and nothing in front of it.", Cause: err,
		}
	case berth.CodeOf(err) == berth.CodeUnauthenticated:
		return &berth.Error{
			Code: berth.CodeInvalid, Field: "bearer", Message: "is refused by the agent at the address",
			Remediation: "See whether the address leads to this host and not to another one with the same certificate.", Cause: err,
		}
	case berth.CodeOf(err) == berth.CodeForbidden:
		return &berth.Error{
			Code: berth.CodeConflict, Field: "address", Message: message(err),
			Remediation: "Remove the host from that installation first, and the agent's data folder on the host.", Cause: err,
		}
	case berth.CodeOf(err) == berth.CodeUnavailable, berth.CodeOf(err) == berth.CodeTimedOut:
		e := ofField("address", err)
		e.Message = "cannot be called back: " + e.Message
		var network net.Error
		if e.Remediation == "" || errors.As(err, &network) { // an agent that asks does run: the way to it is at fault
			e.Remediation = "Let the server reach this address: see firewalls and security groups, and whether berth-agent listens there."
		}
		return e
	}
	return ofField("address", err)
}

// message is an error's text for people, without its cause where that repeats it.
func message(err error) string {
	var e *berth.Error
	if errors.As(err, &e) {
		return e.Error()
	}
	return err.Error()
}

// ofField names the field of the join, with what the agent says to do. Who joins is
// shown the cause, too: it is their address that was called.
func ofField(field string, err error) *berth.Error {
	out := &berth.Error{Code: berth.CodeInvalid, Field: field, Message: message(err)}
	var e *berth.Error
	if errors.As(err, &e) {
		out.Remediation, out.Cause = e.Remediation, e.Cause
	}
	return out
}
