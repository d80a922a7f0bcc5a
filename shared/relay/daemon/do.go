//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"time"

	"github.com/berth-dev/berth/shared/berth"
	"github.com/berth-dev/berth/shared/guest/wire"
)

func decode[T any](m wire.Message) (params T, err error) {
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return params, &berth.Error{Code: berth.CodeMalformed, Message: "the parameters of " + string(m.Op) + " could not be read", Cause: err}
	}
	return params, nil
}

// do answers one request.
func (s *Server) do(ctx context.Context, m wire.Message) (result any, body []byte, err error) {
	switch m.Op {
	case wire.OpPing:
		return nil, nil, nil
	case wire.OpProvision, wire.OpDescribe, wire.OpHalt, wire.OpResume, wire.OpDestroy:
		// What is begun is brought to its end, whoever still waits for it.
		result, err = s.doLife(context.WithoutCancel(ctx), m)
		return result, nil, err
	case wire.OpProbe:
		agent, err := s.agent()
		if err != nil {
			return nil, nil, err
		}
		p, err := decode[wire.Probe](m)
		if err != nil {
			return nil, nil, err
		}
		said, err := agent.ProbeMounts(ctx, wire.Strings(p.Mounts))
		return said, nil, err
	case wire.OpCommand, wire.OpDescribeCommand, wire.OpOutput, wire.OpInput, wire.OpSignal, wire.OpCancel:
		return s.doCommand(ctx, m)
	case wire.OpRead, wire.OpWrite, wire.OpDelete, wire.OpGrep, wire.OpGlob:
		agent, err := s.agent()
		if err != nil {
			return nil, nil, err
		}
		params, body, err := agent.Forward(ctx, m.Op, m.Params, m.Body)
		return params, body, err
	case wire.OpPut, wire.OpPutPiece, wire.OpPutEnd:
		// A connection that is cut in the middle must not undo what its client will ask
		// for again.
		result, err = s.doPut(context.WithoutCancel(ctx), m)
		return result, nil, err
	}
	return nil, nil, berth.Errorf(berth.CodeUnsupported, "the sandbox's daemon does not know %q", m.Op)
}

func (s *Server) doCommand(ctx context.Context, m wire.Message) (result any, body []byte, err error) {
	agent, err := s.agent()
	if err != nil {
		return nil, nil, err
	}
	switch m.Op {
	case wire.OpCommand:
		p, err := decode[wire.Command](m)
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, agent.StartCommand(ctx, specOf(p))
	case wire.OpDescribeCommand:
		p, err := decode[wire.CommandRef](m)
		if err != nil {
			return nil, nil, err
		}
		state, err := agent.DescribeCommand(ctx, p.ID)
		return wire.CommandState(state), nil, err
	case wire.OpOutput:
		p, err := decode[wire.Output](m)
		if err != nil {
			return nil, nil, err
		}
		out, err := agent.ReadOutput(ctx, p.ID, p.Offset, p.Limit, min(p.Wait, maxWait))
		return wire.OutputResult{Next: out.Next, Ended: out.Ended, Exit: out.Exit}, out.Bytes, err
	case wire.OpInput:
		p, err := decode[wire.Input](m)
		if err != nil {
			return nil, nil, err
		}
		// One piece a request: how far it came is told in any case.
		short, cancel := context.WithTimeout(ctx, inputWait)
		defer cancel()
		offset, err := agent.WriteInput(short, p.ID, p.Offset, m.Body, p.EOF)
		if berth.CodeOf(err) == berth.CodeTimedOut && ctx.Err() == nil {
			err = nil
		}
		return wire.Offset{Offset: offset}, nil, err
	}
	p, err := decode[wire.Signal](m)
	if err != nil {
		return nil, nil, err
	}
	if m.Op == wire.OpCancel {
		return nil, nil, agent.Cancel(ctx, p.ID)
	}
	return nil, nil, agent.Signal(ctx, p.ID, p.Name)
}

const (
	// maxWait bounds one read of output: the client asks again.
	maxWait = 30 * time.Second
	// inputWait bounds one write of input to a command that does not read.
	inputWait = 2 * time.Second
)

func specOf(p wire.Command) berth.CommandSpec {
	spec := berth.CommandSpec{
		ID: p.ID, Argv: wire.Strings(p.Argv), Script: string(p.Script), Dir: string(p.Dir), Timeout: p.Timeout, Stdin: p.Stdin, OutputCap: p.OutputCap,
	}
	if len(p.Env) > 0 {
		spec.Env = make(map[string]string, len(p.Env))
	}
	for _, v := range p.Env {
		spec.Env[string(v.Name)] = string(v.Value)
	}
	for _, value := range p.Mask {
		spec.Mask = append(spec.Mask, berth.NewSecretValue([]byte(value)))
	}
	return spec
}
