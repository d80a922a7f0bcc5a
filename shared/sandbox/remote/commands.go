package remote

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/hostagent/agentapi"
)

func (p *Provider) command(method string, ref berth.SandboxRef, id berth.CommandID, below ...string) call {
	return p.call(method, agentapi.CommandPath(p.config.Kind, ref.ID, id, below...), ref)
}

// StartCommand starts spec in the sandbox.
func (p *Provider) StartCommand(ctx context.Context, ref berth.SandboxRef, spec berth.CommandSpec) error {
	return p.exchange(ctx, p.command(http.MethodPut, ref, spec.ID), agentapi.CommandOf(spec), nil)
}

// DescribeCommand asks the agent.
func (p *Provider) DescribeCommand(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) (berth.CommandState, error) {
	var s agentapi.CommandState
	err := p.exchange(ctx, p.command(http.MethodGet, ref, id), nil, &s)
	return berth.CommandState(s), err
}

// Signal sends to the command's process group. As a second signal is another
// one, it is not sent again when it is not known whether it has arrived.
func (p *Provider) Signal(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, signal string) error {
	k := p.command(http.MethodPost, ref, id, "signal")
	k.once = true
	return p.exchange(ctx, k, agentapi.Signal{Signal: signal}, nil)
}

// Cancel ends the command's process tree.
func (p *Provider) Cancel(ctx context.Context, ref berth.SandboxRef, id berth.CommandID) error {
	return p.exchange(ctx, p.command(http.MethodPost, ref, id, "cancel"), nil, nil)
}

// ReadOutput polls until there is something or the wait is over: one request
// waits no longer than agentapi.MaxWait.
func (p *Provider) ReadOutput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, limit int, wait time.Duration) (berth.Output, error) {
	for {
		k := p.command(http.MethodGet, ref, id, "output").number("offset", offset).number("limit", int64(max(limit, 0))).waiting(wait)
		wait -= k.wait
		a, err := p.do(ctx, k)
		if err != nil {
			return berth.Output{}, err
		}
		out, err := p.output(a)
		if err != nil || len(out.Bytes) > 0 || out.Ended || wait <= 0 {
			return out, err
		}
	}
}

func (p *Provider) output(a answer) (berth.Output, error) {
	next, err := strconv.ParseInt(a.header.Get(agentapi.NextHeader), 10, 64)
	if err != nil {
		return berth.Output{}, p.foreign("without an offset")
	}
	out := berth.Output{Bytes: a.body, Next: next}
	if exit := a.header.Get(agentapi.ExitHeader); exit != "" {
		out.Ended, out.Exit = true, new(berth.Exit)
		if json.Unmarshal([]byte(exit), out.Exit) != nil {
			return berth.Output{}, p.foreign("with an exit of another form")
		}
	}
	return out, nil
}

// answerMargin is kept of the caller's time for an answer that says how far
// input got.
const answerMargin = 100 * time.Millisecond

// WriteInput returns when all is accepted. The offset that comes with an error
// says how much certainly was.
func (p *Provider) WriteInput(ctx context.Context, ref berth.SandboxRef, id berth.CommandID, offset int64, data []byte, eof bool) (int64, error) {
	for {
		piece := data[:min(len(data), agentapi.MaxInput)]
		last := len(piece) == len(data)
		wait := agentapi.MaxWait
		if deadline, ok := ctx.Deadline(); ok {
			left := time.Until(deadline)
			wait = min(wait, max(left-answerMargin, left/2))
		}
		k := p.command(http.MethodPost, ref, id, "input").number("offset", offset).
			param("eof", strconv.FormatBool(eof && last)).waiting(wait).bytes(piece)
		a, err := p.do(ctx, k)
		if err != nil {
			return offset, err
		}
		var in agentapi.Input
		if err := p.decode(a, &in); err != nil {
			return offset, err
		}
		taken := in.Offset - offset
		if taken >= int64(len(data)) {
			return in.Offset, nil
		}
		data, offset = data[max(taken, 0):], max(in.Offset, offset)
		if ctx.Err() != nil {
			return offset, p.unreachable(ctx, ctx.Err())
		}
	}
}
